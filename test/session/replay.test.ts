import { expect, test } from "bun:test";
import { retain } from "../../lib/engine/retention.ts";
import type { Item } from "../../lib/session/item.ts";
import type { Session } from "../../lib/session/session.ts";
import { call, facts, makeShelf, reply, result, start, user } from "../support/sessions.ts";

const usage = { input: null, cached: null, output: null, reasoning: null };

/** One turn: a prompt, a call with its result, an answer. */
function turn(session: Session, name: string, ...more: Item[]): void {
  const id = `call-${name}`;
  session.beginTurn(...more, user(name));
  session.append(reply("", call(id)), result(id, `result of ${name}`), reply(`answer to ${name}`));
  session.endTurn("complete");
}

const textsOf = (session: Session) =>
  session.history().map(({ parts }) => parts.map((part) => ("text" in part ? part.text : "")).join(""));

/** The state of a session that its log has to give again in another process. */
const stateOf = (session: Session) => ({
  items: session.items(),
  messages: session.history(),
  todo: session.todo.items,
  environment: session.environment,
  turns: session.info.turns,
  last: session.lastTurn,
  tokens: session.contextTokens(() => 0),
});

test("a rollback takes back turns with all that they recorded, in memory and in the log", async () => {
  await using shelf = makeShelf();
  const session = shelf.store.create(start);
  const { id } = session;
  const first = { kind: "todo" as const, items: [{ text: "one", status: "pending" as const }] };
  turn(session, "a", { kind: "environment", text: "here", facts }, first);
  const before = { messages: session.history(), todo: first.items, environment: session.environment };
  turn(session, "b", { kind: "environment", text: "there", facts: { ...facts, cwd: "/elsewhere" } });
  turn(session, "c", { kind: "todo", items: [] });

  expect(session.rollback(2)).toBe(2);
  expect(stateOf(session)).toMatchObject({ ...before, turns: 1, last: "complete" });
  expect(session.info.cwd).toBe("/project");
  expect(shelf.store.latest("/project")?.id).toBe(id);
  turn(session, "d");
  const live = stateOf(session);
  expect(live.turns).toBe(2);
  session.close();
  await using again = await shelf.store.open(id);
  expect(stateOf(again)).toEqual(live);
  expect(textsOf(again)).not.toContain("b");
});

test("a rollback of more turns than there are keeps what precedes the first", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create(start);
  session.append({ kind: "note", text: "before" });
  turn(session, "a");
  turn(session, "b");
  expect(session.rollback(9)).toBe(2);
  expect(textsOf(session)).toEqual(["before"]);
  expect([session.info.turns, session.lastTurn, session.rollback(1)]).toEqual([0, "none", 0]);
});

test("a rollback needs a number of turns, and no turn may be running", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create(start);
  turn(session, "a");
  for (const turns of [0, -1, 1.5, Number.NaN]) expect(() => session.rollback(turns)).toThrow("num_turns must be >= 1");
  session.beginTurn(user("b"));
  expect(() => session.rollback(1)).toThrow("Cannot rollback while a turn is in progress.");
  expect(session.info.turns).toBe(2);
});

test("a compaction replaces all but what it keeps, and a rollback before it brings all of it back", async () => {
  await using shelf = makeShelf();
  const session = shelf.store.create(start);
  const { id } = session;
  turn(session, "a", { kind: "environment", text: "here", facts });
  turn(session, "b");
  const before = session.history();
  session.beginTurn(user("c"));
  const seqOf = (text: string) => session.items().find((item) => JSON.stringify(item).includes(text))?.seq ?? 0;
  const mark = session.items().findLast(({ kind }) => kind === "turn_start")?.seq ?? 0;
  const tail = [seqOf('"c"')];
  session.append({ kind: "compaction", text: "SUMMARY", kept: [seqOf("here"), seqOf('"a"'), mark], tail, usage });
  session.append(reply("answer to c"));
  session.endTurn("complete");
  expect(textsOf(session)).toEqual(["here", "a", "SUMMARY", "c", "answer to c"]);

  const live = stateOf(session);
  session.close();
  const again = await shelf.store.open(id);
  expect(stateOf(again)).toEqual(live);
  again.rollback(1);
  expect(again.history()).toEqual(before);
  again.close();
  await using last = await shelf.store.open(id);
  expect(last.history()).toEqual(before);
  expect(shelf.store.items(id).map(({ kind }) => kind)).toContain("compaction");
});

test("what a trim leaves of a result says where the rest is, again after a compaction and in another process", async () => {
  await using shelf = makeShelf();
  const session = shelf.store.create(start);
  const { id } = session;
  session.beginTurn(user("a"));
  session.append(reply("", call("c1")), {
    ...result("c1", `${"head ".repeat(50)}${"tail ".repeat(50)}`),
    output: "o1",
  });
  const { seq } = session.items().at(-1) ?? { seq: 0 };
  session.append({ kind: "trim", results: [{ seq, length: 30 }] });
  const trimmed = textsOf(session).at(-1) ?? "";
  expect(trimmed).toBe(
    'head head head head \n[470 characters were left out to save space; RecallContext with turn 1 or output "o1" has them]\ntail tail ',
  );
  const seqs = session.items().map((item) => item.seq);
  session.append({
    kind: "compaction",
    text: "S",
    kept: seqs.filter((at) => at > seq || at < seq - 1),
    tail: [seq - 1, seq],
    usage,
  });
  expect(textsOf(session).at(-1)).toBe(trimmed);
  const live = stateOf(session);
  session.close();
  await using again = await shelf.store.open(id);
  expect(stateOf(again)).toEqual({ ...live, last: "unfinished" });
});

test("removed images stay removed after a compaction and in another process", async () => {
  await using shelf = makeShelf();
  const session = shelf.store.create(start);
  const { id } = session;
  const image = { type: "image", mime: "image/png", base64: "AAAA" } as const;
  const shot = (name: string): Item => ({ ...result(name, ""), parts: [image] });
  turn(session, "a", { ...user("early"), parts: [image] });
  session.beginTurn({ ...user("look"), parts: [image] });
  session.append(reply("", call("c1")), shot("c1"));
  const from = session.items().findLast(({ kind }) => kind === "turn_start")?.seq ?? 0;
  const shown = () =>
    session.history().map(({ parts }) => parts.flatMap((part) => ("text" in part ? part.text : part.type)).join());
  session.append({ kind: "images_removed", from, prompts: false });
  expect(shown().slice(-3)).toEqual(["image", "call", "Invalid image"]);

  session.append({ kind: "images_removed", from, prompts: true }, reply("", call("c2")), shot("c2"));
  expect(shown()[0]).toBe("image");
  expect(shown().slice(-5)).toEqual(["Invalid image", "call", "Invalid image", "call", "image"]);
  session.append({ kind: "compaction", text: "S", ...retain(session.items(), 32_000), usage });
  expect(shown().filter((text) => text === "Invalid image")).toHaveLength(2);
  const live = stateOf(session);
  session.close();
  await using again = await shelf.store.open(id);
  expect(stateOf(again)).toEqual(live);
});

test("the size of a conversation is what was reported and an estimate of what came since", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create(start);
  session.beginTurn(user("x".repeat(350)));
  expect(session.contextTokens(() => 1_000)).toBe(1_108);
  session.append({ ...reply("yes"), usage: { ...usage, input: 500, output: 20 } });
  expect(session.contextTokens(() => 1_000)).toBe(520);
  session.append({ kind: "note", text: "y".repeat(35) });
  expect(session.contextTokens(() => 1_000)).toBe(538);
});
