import { join } from "node:path";
import { binary, using } from "../test/support/koda.ts";
import { say } from "../test/support/model-reply.ts";
import { startModelServer } from "../test/support/model-server.ts";
import { makePlace } from "../test/support/place.ts";
import { cost, type Figure, interleaved, median } from "./measure.ts";

const count = 20_000;

/** A long answer in many small pieces, one event each, compared with a program that only prints them. */
export async function measure(floors: string): Promise<Figure[]> {
  await using place = makePlace();
  const many = say(...Array.from({ length: count }, (_, n) => `word ${n} `));
  const few = say(...Array.from({ length: count / 10 }, (_, n) => `word ${n} `));
  await using server = await startModelServer(({ lines }) => (lines.at(-1)?.text.includes("briefly") ? few : many));
  const options = { cwd: place.project, env: place.env };
  const exec = [binary, "exec", "--json", "--ephemeral", ...using(server)];
  const run = (prompt: string, peak: boolean) => cost([...exec, prompt], { ...options, peak });
  const bare = () => cost([join(floors, "answer"), server.url, "each"], options);
  const times = await interleaved(5, () => run("Talk.", false), bare);
  const peaks = await interleaved(
    3,
    () => run("Talk.", true),
    () => run("Talk briefly.", true),
  );
  for (const { stdout } of times[0] ?? [])
    if (stdout.split('"type":"text.delta"').length - 1 !== count) throw new Error("koda lost deltas");

  const [cpu = 0, floor = 0] = times.map((costs) => median(costs.map(({ cpuMs }) => cpuMs)));
  const [peak = 0, peakBrief = 0] = peaks.map((costs) => median(costs.map(({ peakMb }) => peakMb)));
  return [
    { what: "20,000 deltas, CPU", value: cpu, unit: "ms", floor, bar: "≤ 2.5 x", holds: cpu <= 2.5 * floor },
    {
      what: "20,000 deltas, peak memory (floor: 2,000 deltas)",
      value: peak,
      unit: "MB",
      floor: peakBrief,
      bar: "flat (≤ 1.5 x)",
      holds: peak <= 1.5 * peakBrief,
    },
  ];
}
