import { describe, expect, test } from "bun:test";
import type { Event } from "../../lib/engine/event.ts";
import { call, delta, done, ended, failure, finished, retried, said, sinkRun, started } from "../support/sink-run.ts";

const look = [call("a", "Read", { path: "a" }, "read"), ended("a", "Read")];
const failed = { status: "failed", exit: 9, error: failure } as const;
const limited = {
  status: "limit",
  exit: 5,
  error: { code: "max_turns", message: "Request limit reached: 3 (--max-turns)", retryable: true },
} as const;

type Row = [
  name: string,
  events: readonly Event[],
  /** stdout into a pipe. */
  answer: string,
  /** stdout with --stream. */
  stream: string,
  /** The text that must be on stderr when stdout is only the answer. */
  asides?: readonly string[],
];

const lookAt = [...said("I look."), ...look];
const wholeAnswer = [done("Good."), finished("Good.")];
const soFar = "So far so good.";

const rows: readonly Row[] = [
  [
    "an answer in pieces",
    [delta("All "), delta("good."), done("All good."), finished("All good.")],
    "All good.\n",
    "All good.\n",
  ],
  ["an answer that ends its own line", [...said("One\ntwo\n"), finished("One\ntwo\n")], "One\ntwo\n", "One\ntwo\n"],
  ["an answer that was not streamed", wholeAnswer, "Good.\n", "Good.\n"],
  ["an answer of which only the end knows", [finished("Good.")], "Good.\n", "Good.\n"],
  ["no answer", [finished("", failed)], "", ""],
  [
    "text before a call is not the answer",
    [...lookAt, ...said("Good."), finished("Good.")],
    "Good.\n",
    "I look.\nGood.\n",
    ["I look."],
  ],
  [
    "a call in the middle of a reply's text",
    [delta("I look"), ...look, delta(" at it."), done("I look at it."), ...look, ...said("Good."), finished("Good.")],
    "Good.\n",
    "I look at it.\nGood.\n",
    ["I look\n", "at it.\n"],
  ],
  [
    "text of an attempt that broke is not the answer",
    [delta("Go"), retried, delta("Good."), ...wholeAnswer],
    "Good.\n",
    "Go\nGood.\n",
    ["Go\n"],
  ],
  [
    "an answer in two replies is one answer",
    [...said("One "), ...said("two."), finished("One two.")],
    "One two.\n",
    "One \ntwo.\n",
  ],
  [
    "a reply that was sent back is not the answer",
    [...said("not JSON"), ...said("{}"), finished("{}")],
    "{}\n",
    "not JSON\n{}\n",
    ["not JSON"],
  ],
  [
    "a reply that was cut off is not the answer",
    [delta("Half an ans"), finished("Half an ans", failed)],
    "",
    "Half an ans\n",
    ["Half an ans"],
  ],
  [
    "a run that failed between calls has no answer",
    [...lookAt, finished("I look.", failed)],
    "",
    "I look.\n",
    ["I look."],
  ],
  [
    "an empty reply is no answer, whatever was said before it",
    [...lookAt, done(""), finished("I look.", failed)],
    "",
    "I look.\n",
    ["I look."],
  ],
  [
    "the last words of a run at its limit are the answer",
    [...lookAt, ...said(soFar), finished(soFar, limited)],
    `${soFar}\n`,
    `I look.\n${soFar}\n`,
    ["I look."],
  ],
];

for (const [name, events, answer, stream, asides = []] of rows)
  describe(name, () => {
    test("into a pipe, stdout is the answer and nothing else, and other text is for people, once", async () => {
      const { stdout, stderr } = await sinkRun([started, ...events]);
      expect(stdout).toBe(answer);
      expect(asides.map((aside) => stderr.split(aside).length - 1)).toEqual(asides.map(() => 1));
      if (answer !== "") expect(stderr).not.toContain(`\n${answer}`);
    });

    test("with --stream, stdout is every reply's text", async () => {
      expect((await sinkRun([started, ...events], { stream: true })).stdout).toBe(stream);
    });
  });

const hostile = "\u001b]52;c;ZXZpbA==\u0007\u001b[2JGood.\u009b31m\rBad \u202edoog\u202c";

test("into a pipe the answer's bytes are exactly the model's", async () => {
  expect((await sinkRun([...said(hostile), finished(hostile)])).stdout).toBe(`${hostile}\n`);
  expect((await sinkRun([...said(hostile), finished(hostile)], { stream: true })).stdout).toBe(`${hostile}\n`);
});

test("on a terminal the answer cannot steer it", async () => {
  const { stdout } = await sinkRun([...said(hostile), finished(hostile)], { stdoutIsTerminal: true });
  expect(stdout).toBe("]52;c;ZXZpbA==[2JGood.31m\nBad \\u202edoog\\u202c\n");
});

test("on a terminal text appears as it comes, a call's line below it and the rest below that", async () => {
  const { both } = await sinkRun(
    [delta("I look"), ...look, delta(" at it."), done("I look at it."), finished("I look at it.")],
    { stdoutIsTerminal: true, stderrIsTerminal: true },
  );
  expect(both.split("\n").slice(0, 4)).toEqual([
    "I look",
    "● Read a ✓ 1.2 s",
    " at it.",
    expect.stringContaining("done"),
  ]);
});
