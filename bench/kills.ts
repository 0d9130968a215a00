import { exec, start, using } from "../test/support/koda.ts";
import { call, say } from "../test/support/model-reply.ts";
import { startModelServer } from "../test/support/model-server.ts";
import { makePlace } from "../test/support/place.ts";
import type { Figure } from "./measure.ts";

const kills = 200;
const parallel = 4;
const longestMs = 150;

/** `kill -9` at random moments: every session can be continued, with calls and results in pairs. */
export async function measure(): Promise<Figure[]> {
  let good = 0;
  for (let done = 0; done < kills; done += parallel)
    good += (await Promise.all(Array.from({ length: parallel }, (_, n) => survives(done + n)))).filter(Boolean).length;
  return [
    {
      what: "sessions that continue after kill -9",
      value: good,
      unit: "",
      floor: kills,
      bar: "all",
      holds: good === kills,
    },
  ];
}

async function survives(n: number): Promise<boolean> {
  await using place = makePlace({ "a.txt": "a\n" });
  await using busy = await startModelServer((_request, index) => [
    say("Working. "),
    call("Bash", { command: `echo ${index}; echo ${index} > out.txt` }),
    call("Read", { path: "a.txt" }),
    call("Write", { path: `new-${index}.txt`, content: `${index}\n` }),
  ]);
  const child = start(place, ["exec", "--json", "--session", "victim", ...using(busy), "Work."]);
  // Spread evenly over start-up and the first rounds, with a random part.
  await Bun.sleep(((n + Math.random()) / kills) * longestMs);
  child.kill("SIGKILL");
  await child.exited;

  await using calm = await startModelServer([say("Going on.")]);
  const { end } = await exec(place, calm, ["--session", "victim", "Go on."]);
  return end.status === "done" && calm.problems.length === 0;
}
