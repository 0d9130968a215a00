import { binary, using } from "../test/support/koda.ts";
import { call, reply, say, wait } from "../test/support/model-reply.ts";
import { startModelServer } from "../test/support/model-server.ts";
import { makePlace } from "../test/support/place.ts";
import { cost, type Figure, median } from "./measure.ts";

const rounds = 20;

/** From the end of a reply that calls `echo` to the arrival of the next request, results committed in between. */
export async function measure(): Promise<Figure[]> {
  const gaps: number[] = [];
  let sentAt = 0;
  await using place = makePlace();
  await using server = await startModelServer((_request, index) => {
    if (index > 0) gaps.push(performance.now() - sentAt);
    // The commands differ, or koda would rightly take them for a loop. The time is taken when the reply is written.
    const done = wait(async () => void (sentAt = performance.now()));
    return index < rounds ? reply(call("Bash", { command: `echo ${index}` }), done) : say("Done.");
  });
  const { exit } = await cost([binary, "exec", ...using(server), "Count."], { cwd: place.project, env: place.env });
  if (exit !== 0 || gaps.length !== rounds) throw new Error(`exit ${exit} after ${gaps.length} rounds`);

  const value = median(gaps);
  const spawns: number[] = [];
  while (spawns.length < rounds) spawns.push(await spawnMs());
  const floor = median(spawns);
  return [
    { what: "one tool round of `echo`, median of 20", value, unit: "ms", floor, bar: "≤ 3 ms", holds: value <= 3 },
  ];
}

async function spawnMs(): Promise<number> {
  const started = performance.now();
  await Bun.spawn(["sh", "-c", "echo"], { stdin: "ignore", stdout: "ignore", stderr: "ignore" }).exited;
  return performance.now() - started;
}
