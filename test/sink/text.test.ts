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

type Row = {
  name: string;
  events: readonly Event[];
  /** stdout into a pipe. */
  answer: string;
  /** stdout with --stream. */
  stream: string;
  /** The text that must be on stderr when stdout is only the answer. */
  asides?: readonly string[];
};

const rows: readonly Row[] = [
  {
    name: "an answer in pieces",
    events: [delta("All "), delta("good."), done("All good."), finished("All good.")],
    answer: "All good.\n",
    stream: "All good.\n",
  },
  {
    name: "an answer that ends its own line",
    events: [...said("One\ntwo\n"), finished("One\ntwo\n")],
    answer: "One\ntwo\n",
    stream: "One\ntwo\n",
  },
  {
    name: "an answer that was not streamed",
    events: [done("Good."), finished("Good.")],
    answer: "Good.\n",
    stream: "Good.\n",
  },
  { name: "an answer of which only the end knows", events: [finished("Good.")], answer: "Good.\n", stream: "Good.\n" },
  { name: "no answer", events: [finished("", failed)], answer: "", stream: "" },
  {
    name: "text before a call is not the answer",
    events: [...said("I look."), ...look, ...said("Good."), finished("Good.")],
    answer: "Good.\n",
    stream: "I look.\nGood.\n",
    asides: ["I look."],
  },
  {
    name: "a call in the middle of a reply's text",
    events: [
      delta("I look"),
      ...look,
      delta(" at it."),
      done("I look at it."),
      ...look,
      ...said("Good."),
      finished("Good."),
    ],
    answer: "Good.\n",
    stream: "I look at it.\nGood.\n",
    asides: ["I look\n", "at it.\n"],
  },
  {
    name: "text of an attempt that broke is not the answer",
    events: [delta("Go"), retried, delta("Good."), done("Good."), finished("Good.")],
    answer: "Good.\n",
    stream: "Go\nGood.\n",
    asides: ["Go\n"],
  },
  {
    name: "an answer in two replies is one answer",
    events: [...said("One "), ...said("two."), finished("One two.")],
    answer: "One two.\n",
    stream: "One \ntwo.\n",
  },
  {
    name: "a reply that was sent back is not the answer",
    events: [...said("not JSON"), ...said("{}"), finished("{}")],
    answer: "{}\n",
    stream: "not JSON\n{}\n",
    asides: ["not JSON"],
  },
  {
    name: "a reply that was cut off is not the answer",
    events: [delta("Half an ans"), finished("Half an ans", failed)],
    answer: "",
    stream: "Half an ans\n",
    asides: ["Half an ans"],
  },
  {
    name: "a run that failed between calls has no answer",
    events: [...said("I look."), ...look, finished("I look.", failed)],
    answer: "",
    stream: "I look.\n",
    asides: ["I look."],
  },
  {
    name: "an empty reply is no answer, whatever was said before it",
    events: [...said("I look."), ...look, done(""), finished("I look.", failed)],
    answer: "",
    stream: "I look.\n",
    asides: ["I look."],
  },
  {
    name: "the last words of a run at its limit are the answer",
    events: [...said("I look."), ...look, ...said("So far so good."), finished("So far so good.", limited)],
    answer: "So far so good.\n",
    stream: "I look.\nSo far so good.\n",
    asides: ["I look."],
  },
];

describe("into a pipe, stdout is the answer and nothing else", () => {
  for (const { name, events, answer } of rows)
    test(name, async () => {
      expect((await sinkRun([started, ...events])).stdout).toBe(answer);
    });
});

describe("with --stream, stdout is every reply's text", () => {
  for (const { name, events, stream } of rows)
    test(name, async () => {
      expect((await sinkRun([started, ...events], { stream: true })).stdout).toBe(stream);
    });
});

describe("text that is not the answer is for people, once", () => {
  for (const { name, events, asides = [], answer } of rows)
    test(name, async () => {
      const { stderr } = await sinkRun([started, ...events]);
      for (const aside of asides) expect(stderr.split(aside)).toHaveLength(2);
      if (answer !== "") expect(stderr).not.toContain(`\n${answer}`);
    });
});

test("with --stream people do not read on stderr what stdout says", async () => {
  const { stderr } = await sinkRun([started, ...said("I look."), ...look, ...said("Good."), finished("Good.")], {
    stream: true,
  });
  expect(stderr).not.toContain("I look.");
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
