import { describe, expect, test } from "bun:test";
import { lineSchema } from "../../lib/engine/event.ts";
import { call, ended, finished, printed, retried, said, sinkRun, started } from "../support/sink-run.ts";

const events = [
  started,
  ...said("I look."),
  call("a", "Bash", { command: "npm test" }),
  printed("a", "one\ntwo"),
  ended("a", "Bash", { ok: false, exit_code: 1 }),
  retried,
  ...said("Good\u2028 \ud83d and \u001b[2J."),
  finished("Good\u2028 \ud83d and \u001b[2J."),
];

const parse = (stdout: string) =>
  stdout
    .split("\n")
    .slice(0, -1)
    .map((line): unknown => JSON.parse(line));

describe("jsonl", () => {
  test("is one event a line, numbered without gaps, each in the form that the schema describes", async () => {
    const { stdout } = await sinkRun(events, { mode: "jsonl" });
    const lines = parse(stdout).map((line) => lineSchema.parse(line));
    expect(lines.map(({ seq }) => seq)).toEqual(events.map((_, index) => index));
    expect(lines.map(({ v: _v, seq: _seq, at: _at, ...event }) => event)).toEqual(events);
  });

  test("begins each line with its envelope", async () => {
    const { stdout } = await sinkRun(events, { mode: "jsonl" });
    expect(stdout).toStartWith('{"v":1,"seq":0,"at":"2');
  });

  test("is ASCII-safe where text is none: half a surrogate pair is escaped", async () => {
    const { stdout } = await sinkRun(events, { mode: "jsonl" });
    expect(stdout).toContain("\\ud83d");
    expect(stdout).not.toContain("\ufffd");
  });

  test("leaves the telling to stderr all the same", async () => {
    const { stderr } = await sinkRun(events, { mode: "jsonl" });
    expect(stderr).toContain("● Bash npm test");
  });
});

describe("json", () => {
  test("is one line: the end, in the form of a jsonl line", async () => {
    const { stdout } = await sinkRun(events, { mode: "json" });
    const [line, ...others] = parse(stdout).map((line) => lineSchema.parse(line));
    expect(others).toEqual([]);
    expect(line).toMatchObject({ v: 1, seq: 0, type: "end", exit: 0, text: "Good\u2028 \ud83d and \u001b[2J." });
  });
});
