import { expect, test } from "bun:test";
import { Gathering } from "../../lib/engine/gather.ts";
import type { Message } from "../../lib/model/message.ts";
import type { ModelEvent } from "../../lib/model/model.ts";
import { noUsage } from "../../lib/model/usage.ts";

const text = (words: string): ModelEvent => ({ type: "text", text: words });
const call = (id: string): ModelEvent => ({ type: "call", call: { type: "call", id, tool: "Read", arguments: "{}" } });
const end: ModelEvent = { type: "end", reason: "stop", usage: noUsage };
const retry: ModelEvent = {
  type: "retry",
  attempt: 1,
  max: 5,
  delayMs: 200,
  code: "stream",
  message: "Reconnecting… 1/5",
  reason: "the stream broke off",
};

/** `text +id` for each part of the reply, and the types of the events that were announced. */
function gathered(events: readonly ModelEvent[], messages: readonly Message[] = []) {
  const gathering = new Gathering(messages);
  const announced = events.flatMap((event) => gathering.add(event)?.type ?? []);
  const parts = gathering.reply?.item.parts.map((part) => ("id" in part ? `+${part.id}` : part.text));
  return { announced, parts, text: gathering.reply?.text };
}

test("text is joined up to the next call, and announced piece by piece", () => {
  const { announced, parts, text: whole } = gathered([text("a"), text(""), text("b"), call("1"), text("c"), end]);
  expect(announced).toEqual(["text.delta", "text.delta", "text.delta"]);
  expect(parts).toEqual(["ab", "+1", "c"]);
  expect(whole).toBe("abc");
});

test("nothing of an attempt that broke is in the reply", () => {
  const { announced, parts, text: whole } = gathered([text("ha"), call("1"), text("lf"), retry, text("whole"), end]);
  expect(announced).toEqual(["text.delta", "text.delta", "retry", "text.delta"]);
  expect([parts, whole]).toEqual([["whole"], "whole"]);
});

test("a reply is there only with its end", () => {
  expect(gathered([text("half"), call("1")])).toMatchObject({ parts: undefined, text: undefined });
});

test.each<[what: string, ids: string[], taken: string[], expected: string[]]>([
  ["its own is kept", ["a", "b"], [], ["+a", "+b"]],
  ["none is given one", ["", ""], [], ["+call_1", "+call_2"]],
  ["one that was used in this reply is replaced", ["a", "a"], [], ["+a", "+call_2"]],
  ["one that was used before is replaced", ["a"], ["a"], ["+call_2"]],
  ["one that looks like koda's own is passed over", ["call_2", ""], [], ["+call_2", "+call_3"]],
  [
    "one of 64 characters is kept, a longer one is not",
    ["x".repeat(64), "x".repeat(65)],
    [],
    [`+${"x".repeat(64)}`, "+call_2"],
  ],
])("of the ids of calls, %s", (_, ids, taken, expected) => {
  const messages = taken.map((id): Message => ({ role: "tool", call: id, tool: "Read", ok: true, parts: [] }));
  expect(gathered([...ids.map(call), end], messages).parts).toEqual(expected);
});
