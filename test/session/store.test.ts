import { Database as Sqlite } from "bun:sqlite";
import { expect, test } from "bun:test";
import { statSync } from "node:fs";
import { openStore } from "../../lib/session/store.ts";
import { call, makeShelf, output, reply, result, start, user } from "../support/sessions.ts";

/** A session with one prompt, closed again. */
function record(shelf: ReturnType<typeof makeShelf>, id: string, prompt: string, cwd = start.cwd): string {
  const session = shelf.store.create({ ...start, id, cwd });
  session.beginTurn();
  session.append(user(prompt), reply("done"));
  session.endTurn("complete");
  session.close();
  return id;
}

/** Pretends that the last activity of a session was so long ago. */
function age(shelf: ReturnType<typeof makeShelf>, id: string, ms: number): void {
  using db = new Sqlite(shelf.path);
  db.query("UPDATE session SET updated_at = ? WHERE id = ?").run(Date.now() - ms, id);
}

function countRows(shelf: ReturnType<typeof makeShelf>): Record<string, number> {
  using db = new Sqlite(shelf.path);
  const tables = ["session", "item", "content", "output", "recording", "search", "lease"];
  return Object.fromEntries(
    tables.map((table) => [table, db.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${table}`).get()?.n ?? -1]),
  );
}

test("a new session's id is a UUID of version 7, so ids sort by age", async () => {
  await using shelf = makeShelf();
  const [one, two] = [shelf.store.create(start), shelf.store.create(start)];
  expect(one.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(one.id < two.id).toBe(true);
  one.close();
  two.close();
});

test("an id is taken once", async () => {
  await using shelf = makeShelf();
  record(shelf, "mine", "one");
  expect(() => shelf.store.create({ ...start, id: "mine" })).toThrow('Session "mine" exists already');
});

test("a session is found by its id and by a beginning that no other has", async () => {
  await using shelf = makeShelf();
  record(shelf, "apple", "one");
  record(shelf, "apricot", "two");
  expect(shelf.store.find("apple").title).toBe("one");
  expect(shelf.store.find("apr").title).toBe("two");
  await using opened = await shelf.store.open("app");
  expect(opened.id).toBe("apple");
});

test("a session is looked up by exactly its id where no other will do", async () => {
  await using shelf = makeShelf();
  record(shelf, "apple", "one");
  expect(shelf.store.named("apple")?.title).toBe("one");
  expect(shelf.store.named("app")).toBeUndefined();
});

test("an id that is the beginning of another is found itself", async () => {
  await using shelf = makeShelf();
  record(shelf, "a", "one");
  record(shelf, "ab", "two");
  expect(shelf.store.find("a").title).toBe("one");
});

test("a beginning that several sessions have names them", async () => {
  await using shelf = makeShelf();
  for (let n = 1; n <= 7; n++) record(shelf, `s-${n}`, `task ${n}`);
  const sought = () => shelf.store.find("s-");
  expect(sought).toThrow('Session id "s-" is ambiguous: s-1 (task 1), s-2 (task 2), s-3');
  expect(sought).toThrow("and 2 more");
  await expect(shelf.store.open("s-")).rejects.toMatchObject({ code: "session_not_found" });
});

test("an unknown id is session_not_found, whatever it looks like", async () => {
  await using shelf = makeShelf();
  record(shelf, "apple", "one");
  for (const id of ["", "b", "%", "_pple", "apple2", "' OR 1=1 --", "APPLE", "\u0000"]) {
    expect(() => shelf.store.find(id)).toThrow(`No session "${id}"`);
    await expect(shelf.store.open(id)).rejects.toMatchObject({ code: "session_not_found" });
    expect(() => shelf.store.fork(id)).toThrow("No session");
    expect(() => shelf.store.remove(id)).toThrow("No session");
  }
});

test("openOrCreate makes a session with exactly this id, and opens it the next time", async () => {
  await using shelf = makeShelf();
  record(shelf, "nightly-2", "other");
  const first = await shelf.store.openOrCreate("nightly", start);
  expect([first.id, first.resumed]).toEqual(["nightly", false]);
  first.append(user("hello"));
  first.close();
  await using second = await shelf.store.openOrCreate("nightly", start);
  expect([second.id, second.resumed, second.items().length]).toEqual(["nightly", true, 1]);
});

test.each(["", "a b", "a/b", "ä", "x".repeat(65), "a\n"])("the session id %j is refused as usage", async (id) => {
  await using shelf = makeShelf();
  await expect(shelf.store.openOrCreate(id, start)).rejects.toMatchObject({ code: "usage" });
  expect(countRows(shelf)["session"]).toBe(0);
});

test("latest is the session of that very directory with the latest activity", async () => {
  await using shelf = makeShelf();
  record(shelf, "old", "one");
  record(shelf, "new", "two");
  record(shelf, "elsewhere", "three", "/project/sub");
  age(shelf, "old", 1000);
  age(shelf, "new", 500);
  expect(shelf.store.latest("/project")?.id).toBe("new");
  age(shelf, "old", 100);
  expect(shelf.store.latest("/project")?.id).toBe("old");
  expect(shelf.store.latest("/nowhere")).toBeUndefined();
  await using _ = shelf.store.create(start);
  expect(shelf.store.latest("/project")?.id).toBe("old");
});

test("the list begins with the latest activity", async () => {
  await using shelf = makeShelf();
  for (const [id, ms] of [
    ["b", 300],
    ["a", 100],
    ["c", 200],
  ] as const)
    age(shelf, record(shelf, id, id), ms);
  expect(shelf.store.list().map(({ id }) => id)).toEqual(["a", "c", "b"]);
  expect(shelf.store.list()[0]).toMatchObject({ title: "a", turns: 1, length: 4, cwd: "/project", model: "big" });
});

test("a fork begins with what the other session holds, and each goes its own way", async () => {
  await using shelf = makeShelf();
  await using parent = shelf.store.create(start);
  parent.append(user("one"), reply("", call("c1")), result("c1", "listing"));
  parent.outputs.save(output(parent.outputs.reserve(), "whole listing\n"));

  await using fork = shelf.store.fork(parent.id);
  expect(fork.id).not.toBe(parent.id);
  expect([fork.resumed, fork.info.parent, fork.info.title]).toEqual([true, parent.id, "one"]);
  expect(fork.history()).toEqual(parent.history());
  expect(fork.outputs.load("o1")).toEqual(parent.outputs.load("o1"));
  expect(fork.info.usage.input).toBeNull();

  fork.append(user("left"));
  parent.append(user("right"));
  expect(fork.outputs.reserve()).toBe("o2");
  fork.outputs.save(output("o1", "changed\n"));
  expect(Buffer.from(parent.outputs.load("o1")?.stdout.head ?? []).toString()).toBe("whole listing\n");
  expect(Buffer.from(fork.outputs.load("o1")?.stdout.head ?? []).toString()).toBe("changed\n");
  expect(shelf.store.items(fork.id).length).toBe(4);
  expect(JSON.stringify(shelf.store.items(fork.id))).not.toContain("right");
});

test("a fork shares the content instead of copying it, and outlives its parent", async () => {
  await using shelf = makeShelf();
  const parent = shelf.store.create(start);
  parent.append(user("one"), reply("two"));
  parent.outputs.save(output("o1", "shared\n"));
  parent.close();
  const fork = shelf.store.fork(parent.id);
  expect(countRows(shelf)).toMatchObject({ item: 4, content: 2, output: 2, recording: 1 });
  fork.append(user("three"));
  const items = fork.items();
  fork.close();

  shelf.store.remove(parent.id);
  expect(countRows(shelf)).toMatchObject({ session: 1, item: 3, content: 3, output: 1, recording: 1 });
  await using again = await shelf.store.open(fork.id);
  expect(again.items()).toEqual(items);
  expect(again.info.parent).toBe(parent.id);
  expect(again.outputs.load("o1")).toBeDefined();
});

test("removing a session leaves nothing of it", async () => {
  await using shelf = makeShelf();
  const session = shelf.store.create(start);
  session.append(user("secret one"), reply("", call("c1")), result("c1", "secret two"));
  session.outputs.save(output("o1", "secret three\n"));
  session.outputs.save(output("o1", "secret four\n"));
  expect(session.recall.search("secret")).toHaveLength(3);
  session.outputs.save(output("o2", "secret five\n"));
  session.close();
  shelf.store.remove(session.id.slice(0, 30));
  expect(countRows(shelf)).toEqual({ session: 0, item: 0, content: 0, output: 0, recording: 0, search: 0, lease: 0 });
  expect(shelf.store.search("secret", 50).matches).toEqual([]);
});

test("a session that a process works in is neither removed nor pruned", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create({ ...start, id: "busy" });
  session.append(user("hello"));
  expect(() => shelf.store.remove("busy")).toThrow('Session "busy" is in use');
  age(shelf, "busy", 1_000_000);
  expect(shelf.store.prune(1000)).toMatchObject({ unused: [], held: [{ info: { id: "busy" } }] });
  session.append(user("still here"));
});

test("prune deletes what nobody touched for so long and says which", async () => {
  await using shelf = makeShelf();
  for (const [id, ms] of [
    ["young", 1000],
    ["old", 100_000],
    ["older", 200_000],
  ] as const)
    age(shelf, record(shelf, id, id), ms);
  expect(shelf.store.search("done", 50).matches).toHaveLength(3);
  expect(shelf.store.prune(50_000).unused.map(({ info }) => info.id)).toEqual(["older", "old"]);
  expect(shelf.store.list().map(({ id }) => id)).toEqual(["young"]);
  expect(countRows(shelf)).toMatchObject({ item: 4, content: 4, search: 2 });
});

test("a fork without items of its own ended as its parent did", async () => {
  await using shelf = makeShelf();
  record(shelf, "parent", "hello");
  await using fork = shelf.store.fork("parent");
  const info = shelf.store.find(fork.id);
  expect([shelf.store.outcome(info), info.costUsd]).toEqual(["done", 0]);
});

test("prune makes the file smaller when most of it is free", async () => {
  await using shelf = makeShelf();
  age(shelf, record(shelf, "old", "big ".repeat(1_000_000)), 100_000);
  age(shelf, record(shelf, "young", "small"), 1000);
  expect(shelf.store.search("big", 50).total).toBe(1);
  shelf.store.prune(50_000);
  shelf.store.close();
  expect(statSync(shelf.path).size).toBeLessThan(1_000_000);
  await using store = openStore(shelf.path);
  expect(store.search("small", 50).matches.map(({ session }) => session)).toEqual(["young"]);
});

test("the items of a session can be read while a process writes to it", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create(start);
  session.append(user("one"));
  using writer = new Sqlite(shelf.path);
  writer.run("BEGIN IMMEDIATE");
  const began = performance.now();
  expect(shelf.store.items(session.id)).toHaveLength(1);
  expect(shelf.store.list()).toHaveLength(1);
  expect(performance.now() - began).toBeLessThan(5000);
  writer.run("ROLLBACK");
});
