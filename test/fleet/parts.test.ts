import { expect, test } from "bun:test";
import { linesFrom } from "../../lib/fleet/work/lines.ts";
import { masksFor } from "../../lib/fleet/work/masks.ts";
import { limitsFor } from "../../lib/fleet/work/childline.ts";
import { usualSettings } from "../support/fleetplace.ts";

const streamOf = (chunks: readonly string[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
      controller.close();
    },
  });

for (const [name, chunks, lines] of [
  ["in one piece", ["a\nb\n"], ["a", "b"]],
  ["in many pieces", ["a", "b", "\n", "c\nd", "e\n"], ["ab", "c", "de"]],
  ["with a part that never ends", ["a\nb"], ["a"]],
  [
    "with one that is too long, at once or in pieces",
    ["a\n", "12345678901\n", "1234567", "8901", "2\nb\n"],
    ["a", "b"],
  ],
  ["with one that is just not too long", ["1234567890\n"], ["1234567890"]],
  ["without text", ["\n", "\n"], ["", ""]],
] as const)
  test(`lines come ${name}`, async () => {
    expect(await Array.fromAsync(linesFrom(streamOf(chunks), 10))).toEqual([...lines]);
  });

const env = { MY_TOKEN: 'va"lue-of-it', SHORT_KEY: "none", HOME: "/home/someone", OTHER: "of-an-endpoint" };

for (const [kind, text, masked] of [
  ["redacted", JSON.stringify({ text: 'is va"lue-of-it' }), '{"text":"is [key]"}'],
  ["redacted", "none in /home/someone, sk-proj-abcdefgh", "none in /home/someone, [key]"],
  ["full", 'va"lue-of-it, sk-proj-abcdefgh', "[key], sk-proj-abcdefgh"],
  ["redacted", "of-an-endpoint", "[key]"],
] as const)
  test(`transcripts that are ${kind} have ${masked} for ${text}`, () => {
    expect(masksFor(kind, env, ["OTHER"]).text(text)).toBe(masked);
  });

test("only lines that a patch adds are masked, whatever bytes are in it", () => {
  const patch = Buffer.concat([
    Buffer.from('-va"lue-of-it\n+ va"lue-of-it '),
    Buffer.from([255, 0]),
    Buffer.from("\n"),
  ]);
  const masked = masksFor(usualSettings.transcripts, env).patch(patch);
  expect(Buffer.from(masked).toString("latin1")).toBe('-va"lue-of-it\n+ [key] \xff\0\n');
});

for (const [task, grant, spent, limits] of [
  [{}, {}, { costUsd: 1, tokens: 1 }, {}],
  [{ maxTokens: 10 }, {}, { costUsd: 0, tokens: 4 }, { tokens: { most: 6, isShared: false } }],
  [{ maxTokens: 10 }, { tokens: 5 }, { costUsd: 0, tokens: 4 }, { tokens: { most: 5, isShared: true } }],
  [{ maxTokens: 10 }, { tokens: 9 }, { costUsd: 0, tokens: 4 }, { tokens: { most: 6, isShared: false } }],
  [{}, { costUsd: 0.5 }, { costUsd: 9, tokens: 0 }, { costUsd: { most: 0.5, isShared: true } }],
  [{ maxCost: 1 }, {}, { costUsd: 2, tokens: 0 }, { costUsd: { most: 0.000001, isShared: false } }],
] as const)
  test(`the limits of a run for ${JSON.stringify({ task, grant, spent })}`, () => {
    const whole = { key: "a", prompt: "", args: [], after: [], group: "", labels: [], ...task };
    expect(limitsFor(whole, { grant, spent })).toEqual(limits);
  });
