import { binary, using } from "../test/support/koda.ts";
import { call, say } from "../test/support/model-reply.ts";
import { startModelServer } from "../test/support/model-server.ts";
import { makePlace } from "../test/support/place.ts";
import { cost, type Figure, median } from "./measure.ts";

const rounds = 20;

/** From the end of a reply that calls `echo` to the end of the next request, results committed in between. */
export async function measure(): Promise<Figure[]> {
  await using place = makePlace();
  // The commands differ, or koda would rightly take them for a loop.
  await using server = await startModelServer((_request, index) =>
    index < rounds ? call("Bash", { command: `echo ${index}` }) : say("Done."),
  );
  const { exit } = await cost([binary, "exec", ...using(server), "Count."], { cwd: place.project, env: place.env });
  if (exit !== 0 || server.requests.length !== rounds + 1) throw new Error(`exit ${exit}`);
  const gaps = server.requests
    .slice(1)
    .map(({ arrivedAt }, before) => arrivedAt - (server.requests[before]?.sentAt ?? Number.NaN));

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
