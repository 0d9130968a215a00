import { start, using } from "../test/support/koda.ts";
import { reply, say, wait } from "../test/support/model-reply.ts";
import { startModelServer } from "../test/support/model-server.ts";
import { makePlace } from "../test/support/place.ts";
import { type Figure, median } from "./measure.ts";

const pieces = 20;
const pauseMs = 40;

/** The latency of a piece of text: from the time its frame is sent to the time it can be read. */
export async function measure(): Promise<Figure[]> {
  return [
    await delays("first text of a slow stream, --output jsonl", ["--json"]),
    await delays("first text of a slow stream, --stream", ["--stream"]),
  ];
}

async function delays(what: string, flags: readonly string[]): Promise<Figure> {
  const sentAt: number[] = [];
  const seenAt: number[] = [];
  await using place = makePlace();
  const slow = Array.from({ length: pieces }, (_, n) => [
    wait(async () => {
      await Bun.sleep(pauseMs);
      sentAt[n] = performance.now();
    }),
    say(`piece-${n};`),
  ]);
  await using server = await startModelServer([
    reply(
      ...slow.flat(),
      wait(() => Bun.sleep(pauseMs)),
    ),
  ]);
  const child = start(place, ["exec", ...flags, ...using(server), "Talk."]);
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    const now = performance.now();
    for (const match of decoder.decode(chunk).matchAll(/piece-(\d+);/g)) seenAt[Number(match[1])] ??= now;
  }
  await child.exited;
  const delays = sentAt.map((sent, n) => (seenAt[n] ?? Number.POSITIVE_INFINITY) - sent);
  const value = Math.max(...delays);
  return { what, value, unit: "ms", floor: median(delays), bar: "worst ≤ 15 ms (floor: median)", holds: value <= 15 };
}
