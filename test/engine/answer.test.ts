import { describe, expect, test } from "bun:test";
import { AnswerJudge } from "../../lib/engine/answer.ts";
import type { FinishReason } from "../../lib/model/model.ts";

const schema = {
  type: "object",
  properties: { files: { type: "array", items: { type: "string" } } },
  required: ["files"],
  additionalProperties: false,
};
const counts = { ok: 0, failed: 0, denied: 0 };
const nothing = { openTodos: [], unchangedTask: undefined, mayGoOn: true };

/** A judge that is asked only for its verdicts on texts. */
function judgeOf(options: { schema?: typeof schema; requiresFinish?: boolean } = {}) {
  const judge = new AnswerJudge({ ...options, counts });
  return {
    judge: (reply: { text: string; finish: FinishReason }, circumstances: Partial<typeof nothing> = {}) =>
      judge.judge(reply, { ...nothing, ...circumstances }),
  };
}

const stop = (text: string) => ({ text, finish: "stop" as const });
const cut = (text: string) => ({ text, finish: "length" as const });

describe("without a schema", () => {
  test("text is the answer", async () => {
    expect(await judgeOf().judge(stop("Done."))).toEqual({ kind: "answer", text: "Done." });
  });

  test("pieces of an answer are put together", async () => {
    const judge = judgeOf();
    expect(await judge.judge(cut("One, "))).toMatchObject({ kind: "again" });
    expect(await judge.judge(cut("two, "))).toMatchObject({ kind: "again" });
    expect(await judge.judge(stop("three."))).toEqual({ kind: "answer", text: "One, two, three." });
  });

  test("an answer without end is given up after three continuations", async () => {
    const judge = judgeOf();
    const kinds: string[] = [];
    while (kinds.length < 4) kinds.push((await judge.judge(cut("more"))).kind);
    expect(kinds).toEqual(["again", "again", "again", "failed"]);
  });

  test("white space is no answer, and is asked for again only once", async () => {
    const judge = judgeOf();
    expect(await judge.judge(stop(" \n"))).toMatchObject({ kind: "again" });
    expect(await judge.judge(stop(""))).toMatchObject({ kind: "failed", error: { code: "empty" } });
  });
});

describe("with a schema", () => {
  const good: [name: string, text: string][] = [
    ["bare JSON", '{"files":["a"]}'],
    ["JSON with white space around it", '\n {"files":["a"]}\n'],
    ["JSON in a code fence", '```json\n{"files":["a"]}\n```'],
    ["JSON in a fence without a language", '```\n{"files":["a"]}\n```\n'],
  ];
  for (const [name, text] of good)
    test(`${name} is taken`, async () => {
      expect(await judgeOf({ schema }).judge(stop(text))).toEqual({
        kind: "answer",
        text: '{"files":["a"]}',
        output: { files: ["a"] },
      });
    });

  const bad: [name: string, text: string, complaint: string][] = [
    ["prose", "I changed a.", "not JSON"],
    ["a missing property", "{}", "files"],
    ["a wrong type", '{"files":"a"}', 'files: type "string" is invalid. Expected "array"'],
    ["a property too many", '{"files":[],"more":1}', "more: there is no such property"],
    ["a wrong item", '{"files":["a",1]}', 'files.1: type "number" is invalid'],
  ];
  for (const [name, text, complaint] of bad)
    test(`${name} is sent back with what is wrong`, async () => {
      const judgement = await judgeOf({ schema }).judge(stop(text));
      expect(judgement.kind === "again" && judgement.note).toContain(complaint);
    });

  test("after two repairs it is given up", async () => {
    const judge = judgeOf({ schema });
    const kinds: string[] = [];
    while (kinds.length < 3) kinds.push((await judge.judge(stop("no"))).kind);
    expect(kinds).toEqual(["again", "again", "failed"]);
  });
});
