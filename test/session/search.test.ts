import { Database as Sqlite } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { call, facts, makeShelf, output, reply, result, type Shelf, start, user } from "../support/sessions.ts";

test("a word is found wherever it was said, with its place and what stands around it", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create({ ...start, id: "mine" });
  session.beginTurn();
  session.append(
    user("where is the needle?"),
    {
      ...reply("", call("c1", "Bash", { command: "grep needle" })),
      parts: [
        { type: "thinking", text: "a Needle, hm" },
        { type: "text", text: "I look." },
        call("c1", "Bash", { command: "find . -name pin" }),
      ],
    },
    result("c1", "haystack/needle.txt"),
    { kind: "note", text: "no more NEEDLES" },
    { kind: "todo", items: [{ text: "thread the needle", status: "pending" }] },
    reply("Elsewhere."),
  );
  session.endTurn("error", { error: { code: "network", message: "the needle broke" } });
  const found = shelf.store.search("needle", 50).matches;
  expect(found.map(({ seq, kind }) => `${seq} ${kind}`).sort()).toEqual([
    "2 user",
    "3 assistant",
    "4 result",
    "5 note",
    "6 todo",
    "8 turn_end",
  ]);
  expect(found.every(({ session, snippet }) => session === "mine" && /needle/i.test(snippet))).toBe(true);
  expect(shelf.store.search("pin", 50).matches.map(({ seq }) => seq)).toEqual([3]);
});

const said = "The function parse_config() in lib/config.ts threw ENOENT: naïve über-path, 数据库已损坏 => {x: 1}";
test.each([
  ["the beginning of a word", "func", true],
  ["a word in capitals", "enoent", true],
  ["a word without its accents", "naive uber", true],
  ["a name of several parts", "parse_config", true],
  ["a path", "lib/config.ts", true],
  ["all words in any order", "threw config", true],
  ["some of the words", "threw volcano", true],
  ["what is no word at all", "=> {", true],
  ["writing without spaces, from its middle", "已损坏", true],
  ["an operator of the index as a plain word", 'ENOENT AND (NEAR "quote', true],
  ["none of the words", "volcano", false],
  ["the middle of a word", "unctio", true],
  ["a column of the index", "text:", false],
  ["nothing", "   ", false],
  ["a NUL", "\0", false],
])("looking for %s", async (_, query, isFound) => {
  await using shelf = makeShelf();
  const session = shelf.store.create(start);
  session.append(user("something unrelated"), reply(said));
  expect(shelf.store.search(query, 50).matches.map(({ seq }) => seq)).toEqual(isFound ? [2] : []);
  expect(session.recall.search(query)).toHaveLength(isFound ? 1 : 0);
  session.close();
});

const texts = [
  "loadUserSettings() reads HTTPServerConfig",
  "max_retry_count = 3",
  "数据库连接失败，请检查配置文件。",
  "設定ファイルを確認してください",
  "데이터베이스에 연결하지 못했습니다",
  "Die Datenbankverbindung ist abgebrochen",
  "see lib/config/load.ts, line 12",
  "load the settings of a user from lib, then the config",
  "commit 8e3f9ac1 is broken",
  "a naïve café",
];
test.each<[query: string, found: number[]]>([
  ["usersettings", [1]],
  ["user settings", [1, 8]],
  ["loadusersettings", [1]],
  ["server", [1]],
  ["HTTPServer", [1]],
  ["retry", [2]],
  ["retry_count", [2]],
  ["数据库", [3]],
  ["失败", [3]],
  ["库", [3]],
  ["连接 配置", [3]],
  ["数据库为什么连接失败", [3]],
  ["设定", []],
  ["ファイル", [4]],
  ["設定を", [4]],
  ["데이터베이스", [5]],
  ["연결", [5]],
  ["verbindung", [6]],
  ["datenbank", [6]],
  ["config/load.ts", [7]],
  ["8e3f", [9]],
  ["3f9a", [9]],
  ["cafe", [10]],
  ["CAFÉ", [10]],
])("a search in the language of the request: %s", async (query, found) => {
  await using shelf = makeShelf();
  await using session = shelf.store.create(start);
  session.append(...texts.map(user));
  expect(shelf.store.search(query, 50).matches.map(({ seq }) => seq)).toEqual(found);
});

test("a part of a word is found after a session with it was deleted", async () => {
  await using shelf = makeShelf();
  const gone = shelf.store.create(start);
  gone.append(user("Datenbankverbindung 8e3f9ac1"));
  gone.close();
  await using session = shelf.store.create(start);
  session.append(user("Netzverbindung"));
  expect(["verbindung", "3f9a"].map((part) => shelf.store.search(part, 50).total)).toEqual([2, 1]);
  shelf.store.remove(gone.id);
  expect(shelf.store.search("verbindung", 50).matches.map(({ snippet }) => snippet)).toEqual(["Netzverbindung"]);
  using db = new Sqlite(shelf.path);
  expect(db.query("SELECT text FROM word WHERE text <> ''").values()).toEqual([["netzverbindung"]]);
  expect(db.query("SELECT text FROM unsorted_word").values()).toEqual([]);
});

test("a very long query is answered", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create(start);
  session.append(user("alpha"));
  expect(shelf.store.search(`alpha ${"beta ".repeat(5000)}`, 50).matches).toHaveLength(1);
});

test("a long text without spaces is found by all of it, and by what else it has", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create(start);
  const text = Array.from({ length: 5000 }, (_, n) => String.fromCodePoint(0x4e00 + ((n * 37) % 9000))).join("");
  session.append(user(text), user("数据库"));
  expect(shelf.store.search(text, 5).matches.map(({ seq }) => seq)).toEqual([1]);
  expect(
    shelf.store
      .search(`数据库${text}`, 5)
      .matches.map(({ seq }) => seq)
      .sort(),
  ).toEqual([1, 2]);
});

test("a question finds what answers it, not only what has all of its words", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create(start);
  session.append(user("The server listens on port 8123."));
  for (let n = 0; n < 50; n++) session.append(user(`we did what the plan was for step ${n}`));
  session.append(user("which port did we choose for the server, what was it, I wonder"));
  const found = session.recall.search("which port did we choose for the server");
  expect(found[0]?.snippet).toContain("I wonder");
  expect(found[1]?.snippet).toContain("8123");
});

test("what matches more of the words comes first, and there is an end to it", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create(start);
  for (let n = 0; n < 80; n++) session.append(user(`red herring number ${n}`));
  session.append(user("a red apple"));
  expect(shelf.store.search("red apple", 50).matches[0]?.seq).toBe(81);
  expect(shelf.store.search("pear apple herring", 50).matches[0]?.seq).toBe(81);
  expect(shelf.store.search("red", 50).matches).toHaveLength(50);
  expect(session.recall.search("red")).toHaveLength(10);
});

test("the best matches are shown, and all are counted", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create(start);
  for (let n = 0; n < 7; n++) session.append(user(`red => ${n}`));
  session.outputs.save(output("o1", "red =>\n"));
  for (const query of ["red", "=>"]) {
    const { matches, total } = shelf.store.search(query, 3);
    expect([matches.length, total]).toEqual([3, 8]);
  }
});

test("the surroundings that the model is told of are not found", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create(start);
  session.append({ kind: "environment", text: "<environment> needle => </environment>", facts }, user("go"));
  for (const query of ["needle", "=>"]) {
    expect(shelf.store.search(query, 3)).toEqual({ matches: [], total: 0 });
    expect(session.recall.search(query)).toEqual([]);
  }
});

test("recall sees its own session only, and names the turn and the output", async () => {
  await using shelf = makeShelf();
  await using other = shelf.store.create(start);
  other.append(user("needle of another"));
  await using session = shelf.store.create(start);
  session.append({ kind: "note", text: "a needle before the first turn" });
  session.beginTurn();
  session.append(user("go"), reply("", call("c1")), {
    ...result("c1", "no needle"),
    ok: false,
    exitCode: 1,
    output: "o1",
  });
  session.outputs.save(output("o1", "line one\nline two\nthe needle\nline four\n", "stderr\n"));
  expect(
    session.recall
      .search("needle")
      .map(({ where }) => where)
      .sort(),
  ).toEqual(["output o1, line 3", "turn 0, note", "turn 1, result of Bash, failed, exit code 1, output o1"]);
  expect(session.recall.search("needle").every(({ snippet }) => snippet.includes("needle"))).toBe(true);
});

test("an output that is saved again is found by its new text only", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create(start);
  session.append(user("go"));
  session.outputs.save(output("o1", "first version\n"));
  expect(session.recall.search("first")).toHaveLength(1);
  session.outputs.save(output("o1", "second version\n"));
  expect(session.recall.search("first")).toEqual([]);
  expect(session.recall.search("second")).toEqual([{ where: "output o1, line 1", snippet: "second version" }]);
  expect(shelf.store.search("second", 50).matches).toEqual([
    { session: session.id, seq: 1, at: expect.any(Number), kind: "output", snippet: "second version" },
  ]);
});

test("looking back is not found when looking back", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create(start);
  session.append(user("the needle"));
  session.append(reply("", call("c1", "RecallContext", { query: "needle" })));
  session.append(result("c1", "turn 0, user: the needle", "RecallContext"));
  session.append(reply("", call("c2", "RecallContext", { query: "=>" })));
  expect(session.recall.search("needle")).toEqual([{ where: "turn 0, user", snippet: "the needle" }]);
  expect(session.recall.search("=>")).toEqual([]);
});

test("what forks share is found once, in the session that said it", async () => {
  await using shelf = makeShelf();
  const parent = shelf.store.create({ ...start, id: "z-parent" });
  parent.append(user("the needle"));
  parent.outputs.save(output("o1", "needle work\n"));
  parent.close();
  const fork = shelf.store.fork("z-parent");
  fork.append(user("a needle of its own"));
  const places = shelf.store.search("needle", 50).matches.map(({ session, seq, kind }) => ({
    session,
    seq,
    kind,
  }));
  expect(places).toHaveLength(3);
  expect(places).toContainEqual({ session: "z-parent", seq: 1, kind: "user" });
  expect(places).toContainEqual({ session: "z-parent", seq: 1, kind: "output" });
  expect(places).toContainEqual({ session: fork.id, seq: 2, kind: "user" });
  expect(fork.recall.search("needle")).toHaveLength(3);
  fork.close();
  shelf.store.remove("z-parent");
  expect(shelf.store.search("needle", 50).matches.map(({ session }) => session)).toEqual([fork.id, fork.id, fork.id]);
});

test("a snippet is about 200 characters around the match, on one line, and cuts no character", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create(start);
  const family = "👩‍👩‍👧‍👦";
  session.append(user(`${family.repeat(100)}\n\n  needle\t${family.repeat(100)}`));
  const [match] = session.recall.search("needle");
  expect(match?.snippet).toMatch(new RegExp(`^…(${family})+ needle (${family})+…$`, "u"));
  expect(match?.snippet.length).toBeWithin(150, 230);
});

test("a snippet shows what was found, also of a question in Chinese", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create(start);
  session.append(user(`${"别的内容。".repeat(200)}数据库连接失败${"，其他".repeat(100)}`));
  expect(session.recall.search("为什么连接失败了")[0]?.snippet).toContain("数据库连接失败");
});

test("a match in a line of two megabytes is shown like any other", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create(start);
  session.append(user("go"));
  session.outputs.save(output("o1", `first\n${"ab cd ".repeat(350_000)}needle${" ef".repeat(1000)}`));
  const [match] = session.recall.search("needle");
  expect(match?.where).toBe("output o1, line 2");
  expect(match?.snippet).toContain("cd needle ef");
});

/** What the full-text index has; an item gets there when something is sought. */
function indexed(shelf: Shelf): number {
  using db = new Sqlite(shelf.path);
  return db.query<{ n: number }, []>("SELECT count(*) AS n FROM search").get()?.n ?? -1;
}

test("recording does not wait for the index: what was said gets there when something is sought", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create(start);
  session.beginTurn();
  for (let n = 0; n < 45; n++) session.append(user(`needle ${n}`));
  expect(indexed(shelf)).toBe(0);
  expect(session.recall.search("needle")).toHaveLength(10);
  expect(indexed(shelf)).toBe(45);
  session.append(user("a late needle"));
  expect(session.recall.search("late")).toHaveLength(1);
  expect(shelf.store.search("late", 50).matches).toHaveLength(1);
  expect(indexed(shelf)).toBe(46);
});

test("looking back brings its own session into the index, and looking everywhere the rest", async () => {
  await using shelf = makeShelf();
  await using other = shelf.store.create(start);
  other.append(user("needle of another"), user("another one"));
  await using session = shelf.store.create(start);
  session.append(user("needle"));
  expect(session.recall.search("needle")).toHaveLength(1);
  expect(indexed(shelf)).toBe(1);
  expect(shelf.store.search("needle", 50).matches).toHaveLength(2);
  expect(indexed(shelf)).toBe(3);
});

test("what forks share is found by each of them, whichever brings it into the index", async () => {
  await using shelf = makeShelf();
  await using parent = shelf.store.create(start);
  parent.append(user("old needle"));
  expect(parent.recall.search("needle")).toHaveLength(1);
  parent.append(user("new needle"));
  await using fork = shelf.store.fork(parent.id);
  parent.append(user("needle of the parent"));
  fork.append(user("needle of the fork"));
  expect(fork.recall.search("needle")).toHaveLength(3);
  expect(indexed(shelf)).toBe(3);
  expect(parent.recall.search("needle")).toHaveLength(3);
  expect(shelf.store.search("needle", 50).matches).toHaveLength(4);
  expect(indexed(shelf)).toBe(4);
});

test("what is said after a removal is found, although it may take over the number of what was removed", async () => {
  await using shelf = makeShelf();
  await using kept = shelf.store.create(start);
  kept.append(user("old needle"));
  const gone = shelf.store.create(start);
  gone.append(user("gone"), user("gone needle"));
  expect(shelf.store.search("needle", 50).matches).toHaveLength(2);
  gone.close();
  shelf.store.remove(gone.id);
  kept.append(user("new needle"), user("newer needle"));
  expect(kept.recall.search("needle")).toHaveLength(3);
  expect(
    shelf.store
      .search("needle", 50)
      .matches.map(({ snippet }) => snippet)
      .sort(),
  ).toEqual(["new needle", "newer needle", "old needle"]);
});

test("processes that seek at the same time while others record find everything in the end, each item once", async () => {
  await using shelf = makeShelf();
  const program = join(import.meta.dir, "../support/session-seeker.ts");
  await using session = shelf.store.create(start);
  for (let n = 0; n < 100; n++) session.append(user(`needle number ${n}`));
  const seekers = Array.from({ length: 4 }, () =>
    Bun.spawn([process.execPath, program, shelf.path, "needle"], { stdout: "pipe", stderr: "inherit" }),
  );
  const found = Promise.all(seekers.map(async ({ stdout, exited }) => [await stdout.text(), await exited]));
  for (let n = 100; n < 200; n++) {
    session.append(user(`needle number ${n}`));
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await found).toEqual(seekers.map(() => ["50\n", 0]));
  expect(shelf.store.search("199", 50).matches).toHaveLength(1);
  expect(indexed(shelf)).toBe(200);
});

test("a session with an item that this koda cannot read does not keep the others from being found", async () => {
  await using shelf = makeShelf();
  await using broken = shelf.store.create(start);
  broken.append(user("first needle"), user("strange"), user("last needle"));
  await using session = shelf.store.create(start);
  session.append(user("needle"));
  using db = new Sqlite(shelf.path);
  const readable = db.query<{ body: string }, []>("SELECT body FROM content WHERE id = 2").get()?.body ?? "";
  db.query("UPDATE content SET body = ? WHERE id = 2").run('{"kind":"hologram","text":"needle"}');
  expect(
    shelf.store
      .search("needle", 50)
      .matches.map(({ snippet }) => snippet)
      .sort(),
  ).toEqual(["first needle", "needle"]);
  // A koda that can read it finds the rest.
  db.query("UPDATE content SET body = ? WHERE id = 2").run(readable);
  expect(shelf.store.search("needle", 50).matches).toHaveLength(3);
});
