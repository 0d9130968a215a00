import { join } from "node:path";
import { binary, using } from "../test/support/koda.ts";
import { say } from "../test/support/model-reply.ts";
import { startModelServer } from "../test/support/model-server.ts";
import { makePlace } from "../test/support/place.ts";
import { cost, type Figure, interleaved, median } from "./measure.ts";

/** One short answer: the whole process, compared with a program that only fetches and prints. */
export async function measure(floors: string): Promise<Figure[]> {
  await using place = makePlace();
  await using server = await startModelServer(() => say("The answer is four."));
  const options = { cwd: place.project, env: place.env };
  const koda = (peak: boolean, wire = "chat") =>
    cost([binary, "exec", ...using(server), "--wire", wire, "What is two and two?"], { ...options, peak });
  const floor = (peak: boolean) => cost([join(floors, "answer"), server.url], { ...options, peak });
  const times = await interleaved(
    21,
    () => koda(false),
    () => floor(false),
    () => koda(false, "messages"),
  );
  const peaks = await interleaved(
    5,
    () => koda(true),
    () => floor(true),
  );
  if (times[0]?.some(({ stdout }) => stdout !== "The answer is four.\n")) throw new Error("koda did not answer");

  const [wall = 0, floorWall = 0, messages = 0] = times.map((costs) => median(costs.map(({ wallMs }) => wallMs)));
  const [peak = 0, floorPeak = 0] = peaks.map((costs) => median(costs.map(({ peakMb }) => peakMb)));
  return [
    { what: "one short answer, wall", value: wall, unit: "ms", floor: floorWall, bar: "≤ 60 ms", holds: wall <= 60 },
    {
      what: "one short answer over messages, wall (floor: chat)",
      value: messages,
      unit: "ms",
      floor: wall,
      bar: "≤ 1.1 x",
      holds: messages <= 1.1 * wall,
    },
    {
      what: "one short answer, peak memory",
      value: peak,
      unit: "MB",
      floor: floorPeak,
      bar: "≤ 60 MB",
      holds: peak <= 60,
    },
  ];
}
