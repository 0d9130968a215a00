import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import type { Session } from "../../lib/session/session.ts";
import { makeShelf, output, reply, result, start, user } from "../support/sessions.ts";

/** One turn, and then the session is closed. */
function record(session: Session, prompt: string): Session {
  session.beginTurn();
  session.append(user(prompt), reply("done"));
  session.endTurn("complete");
  session.close();
  return session;
}

test("an agent's session has the root and the id of its parent, and is made by its first item", async () => {
  await using shelf = makeShelf();
  const parent = record(shelf.store.create({ ...start, id: "parent" }), "the task");
  const child = shelf.store.startAgent(parent.info, {
    id: Bun.randomUUIDv7(),
    ...start,
    agent: "explore",
    mode: "plan",
  });
  expect(shelf.store.named(child.id)).toBeUndefined();
  record(child, "look around");
  const info = shelf.store.named(child.id);
  expect(info).toMatchObject({
    parent: "parent",
    root: "parent",
    agent: "explore",
    mode: "plan",
    title: "look around",
  });
  expect(info?.shared).toBeUndefined();
});

test("an agent that is a fork begins with the items of its parent, and keeps its own figures", async () => {
  await using shelf = makeShelf();
  const parent = record(shelf.store.create({ ...start, id: "parent" }), "the task");
  const child = shelf.store.forkAgent(parent.info, { id: Bun.randomUUIDv7(), agent: "fork" });
  expect(child.history()).toEqual(parent.history());
  record(child, "go on");
  const info = shelf.store.find(child.id);
  expect(info).toMatchObject({ parent: "parent", root: "parent", agent: "fork", shared: 4, title: "go on", turns: 2 });
  expect(info.usage).toMatchObject({ input: 10, output: 5 });
  expect(shelf.store.items(child.id).slice(0, 4)).toEqual(shelf.store.items("parent"));
});

test("an agent of a fork has the root of the fork's line", async () => {
  await using shelf = makeShelf();
  record(shelf.store.create({ ...start, id: "parent" }), "the task");
  const fork = record(shelf.store.fork("parent"), "the other task");
  const child = record(
    shelf.store.startAgent(fork.info, { id: Bun.randomUUIDv7(), ...start, agent: "explore" }),
    "look around",
  );
  expect(shelf.store.find(child.id)).toMatchObject({ parent: fork.id, root: "parent" });
  expect(shelf.store.countAgents("parent")).toBe(1);
});

test("lists, counts and the latest session leave agents out unless asked", async () => {
  await using shelf = makeShelf();
  const parent = record(shelf.store.create({ ...start, id: "parent" }), "the task");
  const one = record(
    shelf.store.startAgent(parent.info, { id: Bun.randomUUIDv7(), ...start, agent: "explore" }),
    "look around",
  );
  const two = record(shelf.store.forkAgent(parent.info, { id: Bun.randomUUIDv7(), agent: "fork" }), "go on");
  expect(shelf.store.list().map(({ id }) => id)).toEqual(["parent"]);
  expect(shelf.store.count()).toBe(1);
  expect(shelf.store.latest(start.cwd)?.id).toBe("parent");
  const all = shelf.store.list({ children: true }).map(({ id }) => id);
  expect(all.sort()).toEqual([one.id, two.id, "parent"].sort());
  expect(shelf.store.count({ children: true, cwd: start.cwd })).toBe(3);
  expect(shelf.store.countAgents("parent")).toBe(2);
  expect(shelf.store.find(one.id.slice(0, -2)).id).toBe(one.id);
});

test("the fork of an agent's session is a conversation of the user's", async () => {
  await using shelf = makeShelf();
  const parent = record(shelf.store.create({ ...start, id: "parent" }), "the task");
  const child = record(
    shelf.store.startAgent(parent.info, { id: Bun.randomUUIDv7(), ...start, agent: "explore" }),
    "look around",
  );
  const copy = shelf.store.copy(child.id);
  expect(copy.agent).toBeUndefined();
  expect(shelf.store.list().map(({ id }) => id)).toContain(copy.id);
});

test("a result and a note name the session of an agent", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create({ ...start, id: "parent" });
  session.append({ ...result("c1", "found"), agent: "child" }, { kind: "note", text: "It is done", agent: "child" });
  expect(shelf.store.items("parent")).toMatchObject([{ agent: "child" }, { agent: "child" }]);
});

test("a beginning that the ids of a session and of its agents have is the session's", async () => {
  await using shelf = makeShelf();
  const parent = record(shelf.store.create(start), "the task");
  const children = ["explore", "plan"].map((agent) =>
    record(shelf.store.startAgent(parent.info, { id: Bun.randomUUIDv7(), ...start, agent }), "look around"),
  );
  const short = shelf.store.shortId(parent.info);
  expect(short).toHaveLength(8);
  expect(shelf.store.find(short).id).toBe(parent.id);
  for (const { id, info } of children) expect(shelf.store.find(shelf.store.shortId(info)).id).toBe(id);
});

test("a session is removed with its agents and all that they recorded", async () => {
  await using shelf = makeShelf();
  const parent = record(shelf.store.create({ ...start, id: "parent" }), "the task");
  const child = shelf.store.startAgent(parent.info, { id: Bun.randomUUIDv7(), ...start, agent: "explore" });
  child.outputs.save(output(child.outputs.reserve(), "lines\n"));
  record(child, "look around");
  record(shelf.store.forkAgent(parent.info, { id: Bun.randomUUIDv7(), agent: "fork" }), "go on");
  expect(shelf.store.search("look", 10).total).toBe(1);
  const { info, agents } = shelf.store.remove("parent");
  expect([info.id, ...agents.map(({ agent }) => agent)]).toEqual(["parent", "explore", "fork"]);
  using db = new Database(shelf.path);
  for (const table of ["session", "item", "content", "output", "recording", "search", "lease"])
    expect(db.query(`SELECT * FROM ${table}`).all()).toEqual([]);
});

test("the figures of a session with its agents are unknown where one of them is", async () => {
  await using shelf = makeShelf();
  const parent = record(shelf.store.create({ ...start, id: "parent" }), "the task");
  expect(shelf.store.totals([parent.info])).toEqual([parent.info]);
  for (const costUsd of [0.1, 0.2]) {
    const child = shelf.store.startAgent(parent.info, { id: Bun.randomUUIDv7(), ...start, agent: "explore" });
    child.append({ ...reply("done"), costUsd });
    child.close();
  }
  const known = { ...parent.info, costUsd: 0.1 };
  expect(shelf.store.totals([known])[0]).toMatchObject({ usage: { input: 30, output: 15 }, costUsd: 0.4 });
  record(shelf.store.startAgent(parent.info, { id: Bun.randomUUIDv7(), ...start, agent: "explore" }), "look around");
  expect(shelf.store.totals([known])[0]).toMatchObject({ usage: { input: 40, output: 20 }, costUsd: null });
});

test("an agent that a run has left is told of until an item delivers it, or its turn is rolled back", async () => {
  await using shelf = makeShelf();
  await using parent = shelf.store.create({ ...start, id: "parent" });
  const child = record(
    shelf.store.startAgent(parent.info, { id: Bun.randomUUIDv7(), ...start, agent: "explore" }),
    "look around",
  );
  const leave = () => {
    parent.beginTurn();
    parent.append({ ...result("c1", "a1"), agent: child.id, background: "a1" });
    parent.endTurn("cancelled");
  };
  const left = () => shelf.store.leftAgents(parent.id);
  leave();
  expect(left()).toEqual([{ id: "a1", session: child.id, call: "c1", isKept: true, answer: "done" }]);
  parent.rollback(1);
  expect(left()).toEqual([]);
  leave();
  parent.append({ kind: "note", text: "It is done", agent: child.id });
  expect(left()).toEqual([]);
});
