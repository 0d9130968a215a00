import { expect, test } from "bun:test";
import type { Message } from "../../lib/model/message.ts";
import { History } from "../../lib/session/history.ts";
import type { Item } from "../../lib/session/item.ts";
import { seeded } from "../support/random.ts";
import { call, facts, reply, result, user } from "../support/sessions.ts";

function historyOf(items: readonly Item[]): Message[] {
  const history = new History();
  for (const item of items) history.add(item);
  return history.messages();
}

const noResult = "[interrupted: no result was recorded]";

/** `user one`, `assistant two +c1`, `tool c1 three`: a history that can be compared at a glance. */
function sketch(messages: readonly Message[]): string[] {
  return messages.map((message) => {
    const text = message.parts.map((part) => ("text" in part ? part.text : "")).join("");
    if (message.role === "tool") return `tool ${message.call} ${text}`;
    const calls = message.parts.map((part) => (part.type === "call" ? ` +${part.id}` : "")).join("");
    return `${message.role} ${text}${calls}`;
  });
}

const turnStart: Item = { kind: "turn_start" };
const turnEnd: Item = { kind: "turn_end", reason: "cancelled" };

const cases: readonly (readonly [name: string, items: readonly Item[], expected: readonly string[]])[] = [
  ["an empty log is an empty history", [], []],
  [
    "results stand behind their reply in the order of its calls, whichever was done first",
    [user("u"), reply("a", call("c1"), call("c2")), result("c2", "second"), result("c1", "first"), reply("b")],
    ["user u", "assistant a +c1 +c2", "tool c1 first", "tool c2 second", "assistant b"],
  ],
  [
    "a call without a result gets one that says so, where the log ends",
    [user("u"), reply("", call("c1"), call("c2")), result("c2", "second")],
    ["user u", "assistant  +c1 +c2", `tool c1 ${noResult}`, "tool c2 second"],
  ],
  [
    "and where the turn was cut off before the next prompt",
    [turnStart, user("u"), reply("", call("c1")), turnEnd, turnStart, user("v")],
    ["user u", "assistant  +c1", `tool c1 ${noResult}`, "user v"],
  ],
  [
    "and where the process died, so that no end of the turn was recorded",
    [turnStart, user("u"), reply("", call("c1")), turnStart, user("v")],
    ["user u", "assistant  +c1", `tool c1 ${noResult}`, "user v"],
  ],
  [
    "a result that comes after the end of its turn changes nothing that was sent since",
    [user("u"), reply("", call("c1")), turnEnd, turnStart, user("v"), result("c1", "late")],
    ["user u", "assistant  +c1", `tool c1 ${noResult}`, "user v"],
  ],
  [
    "what is said between a reply and its results comes after them",
    [user("u"), reply("", call("c1")), { kind: "note", text: "hurry" }, result("c1", "done"), user("v")],
    ["user u", "assistant  +c1", "tool c1 done", "user hurry", "user v"],
  ],
  [
    "a result that no call waits for is dropped",
    [user("u"), result("c9", "whose?"), reply("a", call("c1")), result("c9", "whose?"), result("c1", "mine")],
    ["user u", "assistant a +c1", "tool c1 mine"],
  ],
  [
    "of two results of one call the first counts",
    [user("u"), reply("", call("c1")), result("c1", "one"), result("c1", "two")],
    ["user u", "assistant  +c1", "tool c1 one"],
  ],
  [
    "two calls of one reply with the same id are told apart",
    [user("u"), reply("", call("c"), call("c")), result("c", "one"), result("c", "two")],
    ["user u", "assistant  +c +c_2", "tool c one", "tool c_2 two"],
  ],
  [
    "an id that an earlier reply used is made unique, also against one that looks like it",
    [
      user("u"),
      reply("", call("c"), call("c_2")),
      result("c", "1"),
      result("c_2", "2"),
      reply("", call("c")),
      result("c", "3"),
    ],
    ["user u", "assistant  +c +c_2", "tool c 1", "tool c_2 2", "assistant  +c_3", "tool c_3 3"],
  ],
  [
    "a call without an id gets one",
    [user("u"), reply("", call(""), call("")), result("", "one"), result("", "two")],
    ["user u", "assistant  +call +call_2", "tool call one", "tool call_2 two"],
  ],
  [
    "a reply that was cut off before it said or asked anything is left out",
    [
      user("u"),
      reply(""),
      { ...reply(""), parts: [{ type: "thinking", text: "hm" }] },
      { ...reply(""), parts: [{ type: "text", text: "" }] },
      turnEnd,
      user("v"),
    ],
    ["user u", "user v"],
  ],
  [
    "a reply that was cut off in its text stays",
    [user("u"), { ...reply("I was about to"), finish: "length" }, turnEnd, user("v")],
    ["user u", "assistant I was about to", "user v"],
  ],
  [
    "notes and surroundings are said by the user; empty ones, lists and marks are not said at all",
    [
      { kind: "environment", text: "You are in /a.", facts },
      { kind: "environment", text: "", facts },
      turnStart,
      user("u"),
      { kind: "note", text: "note" },
      { kind: "note", text: "" },
      { kind: "todo", items: [{ text: "x", status: "done" }] },
      turnEnd,
    ],
    ["user You are in /a.", "user u", "user note"],
  ],
  ["the same prompt twice is said twice", [user("u"), user("u")], ["user u", "user u"]],
];

test.each(cases)("%s", (_, items, expected) => {
  expect(sketch(historyOf(items))).toEqual([...expected]);
});

test("a failed or denied result is told as such", () => {
  const items = [reply("", call("c1")), { ...result("c1", "no"), ok: false, denied: "sudo" }];
  expect(historyOf(items)[1]).toMatchObject({ role: "tool", tool: "Bash", ok: false });
});

test("malformed arguments go back to the model as it wrote them", () => {
  const broken = { type: "call", id: "c1", tool: "Bash", arguments: '{"comm' } as const;
  expect(historyOf([reply("", broken)])[0]?.parts).toEqual([broken]);
});

test("whatever was recorded, in whatever order, and wherever it was cut off, every call has exactly one result", () => {
  for (let seed = 1; seed <= 300; seed++) {
    const items = randomLog(seed);
    for (let cut = 0; cut <= items.length; cut++)
      expectAccepted(historyOf(items.slice(0, cut)), `seed ${seed}, cut ${cut}`);
  }
});

test("what a request showed is the beginning of what every later request shows", () => {
  for (let seed = 1; seed <= 300; seed++) {
    const items = randomLog(seed);
    let shown: Message[] = [];
    // A request is answered by a reply, or ends its turn: those are the places where something was shown before.
    for (const [index, item] of items.entries()) {
      if (item.kind !== "assistant" && item.kind !== "turn_end") continue;
      const now = historyOf(items.slice(0, index));
      expect(now.slice(0, shown.length)).toEqual(shown);
      shown = now;
    }
  }
});

/** What providers demand: results right behind their reply, one for each call, and no id twice. */
function expectAccepted(messages: readonly Message[], where: string): void {
  const ids: string[] = [];
  let waiting: string[] = [];
  for (const message of messages) {
    if (message.role === "tool") {
      expect([where, message.call]).toEqual([where, waiting.shift() ?? "no call"]);
      expect(message.parts).not.toBeEmpty();
      continue;
    }
    expect([where, waiting]).toEqual([where, []]);
    expect(message.parts).not.toBeEmpty();
    if (message.role === "assistant")
      waiting = message.parts.flatMap((part) => (part.type === "call" ? [part.id] : []));
    ids.push(...waiting);
  }
  expect([where, waiting]).toEqual([where, []]);
  expect(new Set(ids).size).toBe(ids.length);
}

/** Any item after any other, with few ids, so that they collide. */
function randomLog(seed: number): Item[] {
  const random = seeded(seed);
  const pick = <T>(...choices: [T, ...T[]]): T => choices[Math.floor(random() * choices.length)] ?? choices[0];
  const id = () => pick("", "a", "b", "b_2", "c");
  return Array.from({ length: 25 }, () =>
    pick<() => Item>(
      () => user(pick("one", "two")),
      () => reply(pick("", "text"), ...Array.from({ length: pick(0, 1, 2, 3) }, () => call(id()))),
      () => reply("", call(id()), call(id())),
      () => result(id(), "done"),
      () => result(id(), "done"),
      () => ({ kind: "note", text: pick("", "note") }),
      () => ({ kind: "todo", items: [] }),
      () => turnStart,
      () => turnEnd,
    )(),
  );
}
