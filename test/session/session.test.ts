import { Database as Sqlite } from "bun:sqlite";
import { expect, test } from "bun:test";
import type { Item } from "../../lib/session/item.ts";
import { openStore } from "../../lib/session/store.ts";
import { call, facts, makeShelf, output, reply, result, start, user } from "../support/sessions.ts";

const everyKind: Item[] = [
  { kind: "environment", text: "You are in /project.", facts },
  {
    kind: "user",
    parts: [
      { type: "text", text: "look 🕵🏽‍♀️" },
      { type: "image", mime: "image/png", base64: "iVBORw0=" },
    ],
  },
  {
    kind: "assistant",
    parts: [
      { type: "thinking", text: "hm", token: "opaque" },
      { type: "text", text: "I look." },
      { type: "call", id: "c1", tool: "Bash", arguments: '{"command": "l' },
    ],
    finish: "calls",
    usage: { input: 100, cached: 40, output: 7, reasoning: null },
  },
  {
    kind: "result",
    call: "c1",
    tool: "Bash",
    ok: false,
    parts: [{ type: "text", text: "no \u0000 such \ud800 thing" }],
    denied: "sudo",
    exitCode: 2,
    output: "o1",
    durationMs: 1.5,
  },
  { kind: "note", text: "go on" },
  { kind: "todo", items: [{ text: "look", status: "in_progress" }] },
  { kind: "turn_end", reason: "error", error: { code: "network", message: "it broke" } },
];

test("a resumed session has every item as it was appended", async () => {
  await using shelf = makeShelf();
  const session = shelf.store.create(start);
  session.append({ kind: "turn_start" }, ...everyKind);
  const before = { items: session.items(), history: session.history(), usage: session.info.usage };
  session.close();

  await using resumed = await shelf.store.open(session.id);
  expect(resumed.resumed).toBe(true);
  expect(resumed.items()).toEqual(before.items);
  expect(resumed.items()).toMatchObject([{ kind: "turn_start" }, ...everyKind]);
  expect(resumed.history()).toEqual(before.history);
  expect(resumed.info.usage).toEqual({ input: 100, cached: 40, output: 7, reasoning: null });
  expect(resumed.environment).toEqual(facts);
  expect(resumed.todo.items).toEqual([{ text: "look", status: "in_progress" }]);
});

test("an appended item is on disk when append returns", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create(start);
  session.append(user("hello"));
  using other = new Sqlite(shelf.path, { readonly: true });
  expect(other.query("SELECT count(*) AS n FROM item").get()).toEqual({ n: 1 });
});

test("items that are appended together are all there or none", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create(start);
  session.append(user("one"));
  using other = new Sqlite(shelf.path);
  other.run(`CREATE TRIGGER refuse BEFORE INSERT ON item WHEN new.seq = 3 BEGIN SELECT raise(ABORT, 'no'); END`);
  expect(() => session.append(user("two"), user("three"))).toThrow("koda.db");
  expect(session.items()).toHaveLength(1);
  expect(session.info.length).toBe(1);
  other.run("DROP TRIGGER refuse");
  session.append(user("two"), user("three"));
  expect(shelf.store.items(session.id).map(({ seq }) => seq)).toEqual([1, 2, 3]);
});

test("turns count from 1, and what precedes the first has turn 0", async () => {
  await using shelf = makeShelf();
  const session = shelf.store.create(start);
  session.append({ kind: "note", text: "before" });
  expect(session.beginTurn()).toBe(1);
  session.append(user("one"), reply("done"));
  session.endTurn("complete");
  expect(session.beginTurn()).toBe(2);
  session.endTurn("error", { error: { code: "network", message: "broke" } });
  expect(session.items().map(({ kind, turn }) => [kind, turn])).toEqual([
    ["note", 0],
    ["turn_start", 1],
    ["user", 1],
    ["assistant", 1],
    ["turn_end", 1],
    ["turn_start", 2],
    ["turn_end", 2],
  ]);
  expect(session.info.turns).toBe(2);
  session.close();

  await using resumed = await shelf.store.open(session.id);
  expect(resumed.beginTurn()).toBe(3);
});

test("a turn begins with all of its first items or not at all", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create(start);
  session.append({ kind: "note", text: "before" });
  using other = new Sqlite(shelf.path);
  other.run(`CREATE TRIGGER refuse BEFORE INSERT ON item WHEN new.seq = 4 BEGIN SELECT raise(ABORT, 'no'); END`);
  expect(() => session.beginTurn(user("one"), { kind: "note", text: "as JSON" })).toThrow("koda.db");
  expect(shelf.store.items(session.id)).toHaveLength(1);
  other.run("DROP TRIGGER refuse");
  expect(session.beginTurn(user("one"), { kind: "note", text: "as JSON" })).toBe(1);
  const items = shelf.store.items(session.id);
  expect(items.map(({ kind, turn }) => [kind, turn])).toEqual([
    ["note", 0],
    ["turn_start", 1],
    ["user", 1],
    ["note", 1],
  ]);
});

test("a turn that was cut off does not keep the next process from beginning one", async () => {
  await using shelf = makeShelf();
  const session = shelf.store.create(start);
  session.beginTurn();
  session.append(user("one"), reply("", call("c1")));
  expect(() => session.beginTurn()).toThrow("has not ended");
  session.close();
  await using resumed = await shelf.store.open(session.id);
  expect(resumed.beginTurn()).toBe(2);
});

test("the title is the first line of the first prompt that says something, and stays", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create(start);
  session.append({ kind: "note", text: "not a prompt" });
  session.append(user("\n  \n\tFix \u001b[31mthe\u0007   bug\u202e\nand more"));
  session.append(user("something else"));
  expect(session.info.title).toBe("Fix [31mthe bug");
});

test("a long title ends at a whole character", async () => {
  await using shelf = makeShelf();
  const family = "👩‍👩‍👧‍👦";
  await using session = shelf.store.create(start);
  session.append(user(family.repeat(20)));
  expect(session.info.title).toBe(`${family.repeat(Math.floor(79 / family.length))}…`);
});

test("usage adds up over all runs, and a figure that was never reported stays unknown", async () => {
  await using shelf = makeShelf();
  const session = shelf.store.create(start);
  expect(session.info.usage).toEqual({ input: null, cached: null, output: null, reasoning: null });
  session.append(reply("a"));
  session.append({ ...reply("b"), usage: { input: null, cached: 3, output: null, reasoning: null } });
  session.close();
  await using resumed = await shelf.store.open(session.id);
  resumed.append(reply("c"));
  expect(resumed.info.usage).toEqual({ input: 20, cached: 3, output: 10, reasoning: null });
  expect(shelf.store.find(session.id).usage).toEqual(resumed.info.usage);
});

test("the recorded surroundings are those of the last environment", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create(start);
  session.append({ kind: "environment", text: "", facts });
  session.append({
    kind: "environment",
    text: "moved",
    facts: { ...facts, cwd: "/other", mode: "plan", model: "small" },
  });
  expect(shelf.store.find(session.id)).toMatchObject({ cwd: "/other", mode: "plan", model: "small" });
  expect(shelf.store.latest("/project")).toBeUndefined();
  expect(shelf.store.latest("/other")?.id).toBe(session.id);
});

test("a session is made, and held, with the first thing that is said in it", async () => {
  await using shelf = makeShelf();
  using other = new Sqlite(shelf.path);
  const made = () =>
    other.query("SELECT (SELECT count(*) FROM session) AS sessions, (SELECT count(*) FROM lease) AS leases").get();
  const session = shelf.store.create(start);
  expect(made()).toEqual({ sessions: 0, leases: 0 });

  other.run(`CREATE TRIGGER refuse BEFORE INSERT ON item BEGIN SELECT raise(ABORT, 'no'); END`);
  expect(() => session.append(user("hello"))).toThrow("koda.db");
  expect(made()).toEqual({ sessions: 0, leases: 0 });
  other.run("DROP TRIGGER refuse");

  session.append(user("hello"));
  expect(made()).toEqual({ sessions: 1, leases: 1 });
  await expect(shelf.store.open(session.id)).rejects.toMatchObject({ code: "session_held" });
  session.close();
  expect(made()).toEqual({ sessions: 1, leases: 0 });
});

test("an output that is saved before anything was said makes its session", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create(start);
  session.outputs.save(output("o1", "early\n"));
  session.append(user("hello"));
  expect(shelf.store.find(session.id).length).toBe(1);
});

test("a session or fork without new items is gone when it is closed, and one that was there before never is", async () => {
  await using shelf = makeShelf();
  const empty = shelf.store.create(start);
  empty.close();
  const full = shelf.store.create(start);
  full.append(user("hello"));
  full.close();
  const fork = shelf.store.fork(full.id);
  fork.close();
  const resumed = await shelf.store.open(full.id);
  resumed.close();
  expect(shelf.store.list().map(({ id }) => id)).toEqual([full.id]);
});

test("an empty session that somebody else took over meanwhile is theirs to keep", async () => {
  await using shelf = makeShelf();
  const slow = shelf.store.create({ ...start, id: "mine" });
  using db = new Sqlite(shelf.path);
  db.run("UPDATE lease SET expires = 0");
  await using taker = await shelf.store.open("mine");
  taker.append(user("hello"));
  slow.close();
  taker.append(user("still here"));
  expect(shelf.store.items("mine")).toHaveLength(2);
});

test("leaving the scope of a session closes it", async () => {
  await using shelf = makeShelf();
  {
    await using session = shelf.store.create({ ...start, id: "mine" });
    session.append(user("hello"));
  }
  await using again = await shelf.store.open("mine");
  expect(again.items()).toHaveLength(1);
});

test("nothing can be appended to a closed session", async () => {
  await using shelf = makeShelf();
  const session = shelf.store.create(start);
  session.append(user("hello"));
  session.close();
  session.close();
  expect(() => session.append(user("too late"))).toThrow("is closed");
});

test("two sessions of one process know nothing of each other", async () => {
  await using shelf = makeShelf();
  const one = shelf.store.create(start);
  await using two = shelf.store.create(start);
  one.append(user("apple"));
  two.append(user("pear"));
  one.outputs.save(output(one.outputs.reserve(), "apple juice\n"));
  one.todo.replace([{ text: "peel", status: "pending" }]);
  one.files.saw("/project/a", "content");

  expect(two.history()).toEqual([{ role: "user", parts: [{ type: "text", text: "pear" }] }]);
  expect(two.outputs.load("o1")).toBeUndefined();
  expect(two.recall.search("apple")).toEqual([]);
  expect(two.todo.items).toEqual([]);
  expect(two.files.hasSeen("/project/a")).toBe(false);
  one.close();
  two.append(user("still here"));
});

test("the file log of a resumed session is empty: the files may have changed since", async () => {
  await using shelf = makeShelf();
  const session = shelf.store.create(start);
  session.append(user("hello"));
  session.files.saw("/project/a", "content");
  session.close();
  await using resumed = await shelf.store.open(session.id);
  expect(resumed.files.hasSeen("/project/a")).toBe(false);
});

test("the history that was given is not changed by what is appended later", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create(start);
  session.append(user("one"));
  const given = session.history();
  session.append(reply("two"));
  expect(given).toHaveLength(1);
  expect(session.history()).toHaveLength(2);
});

test("an ephemeral store works like any other and leaves nothing on disk", async () => {
  const store = openStore(":memory:");
  const session = store.create(start);
  session.append(user("hello"), reply("", call("c1")), result("c1", "hidden treasure"));
  session.outputs.save(output("o1", "treasure map\n"));
  expect(session.recall.search("treasure")).toHaveLength(2);
  expect(session.history()).toHaveLength(3);
  session.close();
  const again = await store.open(session.id);
  expect(again.resumed).toBe(true);
  again.close();
  store.close();
  expect(await Bun.file(":memory:").exists()).toBe(false);
});

test("an item that this koda cannot read is an error that names the database and the item", async () => {
  await using shelf = makeShelf();
  const session = shelf.store.create(start);
  session.append(user("one"), user("two"));
  session.close();
  using other = new Sqlite(shelf.path);
  for (const body of ['{"kind":"hologram"}', "{", '{"kind":"user","parts":"x"}']) {
    other.query("UPDATE content SET body = ? WHERE id = 2").run(body);
    await expect(shelf.store.open(session.id)).rejects.toMatchObject({
      code: "store",
      message: expect.stringContaining("item 2"),
    });
  }
  other.query("UPDATE content SET body = ? WHERE id = 2").run('{"kind":"note","text":"x","since_next_year":1}');
  await using opened = await shelf.store.open(session.id);
  expect(opened.history().map(({ parts }) => parts)).toEqual([user("one").parts, [{ type: "text", text: "x" }]]);
});
