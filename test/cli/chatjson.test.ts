import { describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { appendFileSync, existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { openChat, promptsOf, startChat } from "../support/chat.ts";
import { checkLines, koda, type Line } from "../support/koda.ts";
import { call, hang, reply, say, wait } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace, tree } from "../support/place.ts";
import { seeded } from "../support/random.ts";

const typesOf = (lines: readonly Line[]) => lines.map(({ type }) => type);
const is = (type: Line["type"]) => (line: Line) => line.type === type;
/** The id of the session that the first event names. */
const sessionOf = async (chat: { until: (passes: (line: Line) => boolean) => Promise<Line> }) => {
  const start = await chat.until(is("session.start"));
  return start.type === "session.start" ? start.session : "";
};
const input = (id: string, text = id) => ({ op: "input", id, text });

test("each input is accepted, answered by a turn that carries its id, and has one reply", async () => {
  await using chat = await openChat([say("one"), say("two")]);
  expect(await chat.ask(input("a", "first"))).toMatchObject({ status: "done", result: { turn: 1, text: "one" } });
  expect(await chat.ask(input("b", "second"))).toMatchObject({ status: "done", result: { turn: 2, text: "two" } });
  const { events, end, exit } = await chat.finish();
  expect([exit, end.status, end.text]).toEqual([0, "done", "two"]);
  expect(chat.server.requests.map(promptsOf)).toEqual([["first"], ["first", "second"]]);
  const accepted = events.findIndex(({ type, submission }) => type === "accepted" && submission === "b");
  const own = events.slice(accepted + 1, -1);
  expect(typesOf(own.filter(({ type }) => type !== "text.delta"))).toEqual([
    "turn.start",
    "text.done",
    "usage",
    "turn.end",
    "reply",
  ]);
  expect(own.every(({ submission }) => submission === "b")).toBe(true);
});

test("input while a turn runs is in its next request, once and in order", async () => {
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  await using chat = await openChat([
    reply(
      call("List", { path: "." }),
      wait(() => (begun.resolve(), goOn.promise)),
    ),
    say("all of it"),
  ]);
  chat.submit(input("a", "first"));
  await begun.promise;
  chat.submit(input("b", "second"), input("c", "third"));
  await chat.until((line) => line.type === "accepted" && line.submission === "c");
  goOn.resolve();
  for (const id of ["a", "b", "c"]) expect(await chat.reply(id)).toMatchObject({ status: "done", result: { turn: 1 } });
  const { end } = await chat.finish();
  expect(chat.server.requests.map(promptsOf)).toEqual([["first"], ["first", "second", "third"]]);
  expect(end.exit).toBe(0);
});

test("input during the last reply takes back the answer", async () => {
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  await using chat = await openChat([
    reply(
      say("too early"),
      wait(() => (begun.resolve(), goOn.promise)),
    ),
    say("with both"),
  ]);
  chat.submit(input("a"));
  await begun.promise;
  chat.submit(input("b"));
  await chat.until((line) => line.type === "accepted" && line.submission === "b");
  goOn.resolve();
  expect(await chat.reply("a")).toMatchObject({ result: { turn: 1, text: "with both" } });
  await chat.finish();
  expect(promptsOf(chat.server.requests[1])).toEqual(["a", "b"]);
});

test("an interrupt ends the turn and not the chat", async () => {
  const begun = Promise.withResolvers<void>();
  await using chat = await openChat([reply(wait(() => (begun.resolve(), new Promise(() => {})))), say("alive")]);
  chat.submit(input("a"));
  await begun.promise;
  expect(await chat.ask({ op: "interrupt", id: "stop" })).toMatchObject({ result: { interrupted: true } });
  expect(await chat.reply("a")).toMatchObject({ status: "cancelled", error: { code: "interrupted" } });
  expect(await chat.ask({ op: "interrupt", id: "idle" })).toMatchObject({ result: { interrupted: false } });
  expect(await chat.ask(input("b"))).toMatchObject({ status: "done" });
  const { events, end } = await chat.finish();
  expect(events.find(is("turn.end"))).toMatchObject({ reason: "cancelled", submission: "a" });
  expect([end.status, end.exit]).toEqual(["done", 0]);
});

test("the chat exits as its last turn ended", async () => {
  await using chat = await openChat([hang()]);
  chat.submit(input("a"));
  await chat.until(is("turn.start"));
  await chat.ask({ op: "interrupt", id: "stop" });
  const { end, exit } = await chat.finish();
  expect([end.status, exit]).toEqual(["cancelled", 130]);
});

test("the end of input waits for the turn", async () => {
  const goOn = Promise.withResolvers<void>();
  await using chat = await openChat([reply(say("done"), wait(goOn.promise))]);
  chat.submit(input("a"));
  await chat.until(is("turn.start"));
  const finished = chat.finish();
  goOn.resolve();
  const { end } = await finished;
  expect([end.status, end.text]).toEqual(["done", "done"]);
});

test("a shutdown stops everything, and what was not begun is answered", async () => {
  await using chat = await openChat([hang()]);
  chat.submit(input("a"));
  await chat.until(is("turn.start"));
  chat.submit({ op: "compact", id: "c" }, { op: "shutdown", id: "s" });
  expect(await chat.reply("s")).toMatchObject({ status: "done" });
  expect(await chat.reply("a")).toMatchObject({ status: "cancelled" });
  expect(await chat.reply("c")).toMatchObject({ status: "cancelled", error: { code: "stopped" } });
  const { exit } = await chat.finish();
  expect(exit).toBe(130);
});

const refused: [string, unknown, string][] = [
  ["no JSON", "{nonsense", "expected one JSON object"],
  ["no object", "[1]", "expected a JSON object"],
  ["no op", { id: "x" }, '"op" is missing'],
  ["a misspelt op", { op: "inptu", id: "x", text: "a" }, 'did you mean "input"?'],
  ["an unknown key", { op: "interrupt", id: "x", force: true }, '"force"'],
  ["a wrong type", { op: "input", id: "x", text: 7 }, '"text"'],
  ["no text at all", { op: "input", id: "x" }, 'either "text" or "parts"'],
  ["a rollback of nothing", { op: "rollback", id: "x", turns: 0 }, "num_turns must be >= 1"],
  ["a rollback in a turn", { op: "undo", id: "x" }, "Cannot rollback while a turn is in progress."],
];

test.each(refused)("a line with %s is rejected and changes nothing", async (_, line, message) => {
  const goOn = Promise.withResolvers<void>();
  await using chat = await openChat([reply(say("ok"), wait(goOn.promise))]);
  chat.submit(input("a"), line);
  const rejected = await chat.until(is("rejected"));
  expect(rejected).toMatchObject({ error: { message: expect.stringContaining(message) } });
  goOn.resolve();
  const { end, events } = await chat.finish();
  expect([end.status, events.filter(is("reply")).length]).toEqual(["done", 1]);
});

test("the same submission twice is one, and is told its reply again", async () => {
  await using chat = await openChat([say("once")]);
  const first = await chat.ask(input("a"));
  const again = await chat.ask(input("a"));
  expect(again).toMatchObject({ status: first.status, result: { text: "once" } });
  chat.submit(input("a", "something else"));
  expect(await chat.until(is("rejected"))).toMatchObject({ submission: "a" });
  await chat.finish();
  expect(chat.server.requests).toHaveLength(1);
});

test("what was accepted before a kill -9 is carried out by the next process, once", async () => {
  const place = makePlace();
  const begun = Promise.withResolvers<void>();
  const first = await openChat(
    () =>
      reply(
        say("never ends"),
        wait(() => (begun.resolve(), new Promise(() => {}))),
      ),
    { place },
  );
  const id = await sessionOf(first);
  first.submit(input("a", "cut off"));
  await begun.promise;
  first.submit({ op: "compact", id: "c" }, input("b", "not begun"));
  await first.until((line) => line.type === "accepted" && line.submission === "b");
  first.child.kill("SIGKILL");
  await first.child.exited;
  await first.server.close();

  await using server = await startModelServer([say("late")]);
  await using chat = startChat(place, server, "--resume", id);
  expect(await chat.reply("a")).toMatchObject({ status: "cancelled", error: { code: "stopped" } });
  expect(await chat.reply("b")).toMatchObject({ status: "done", result: { text: "late" } });
  expect(await chat.ask(input("b", "not begun"))).toMatchObject({ result: { text: "late" } });
  await chat.finish();
  expect(server.requests).toHaveLength(1);
  expect(promptsOf(server.requests[0]).filter((text) => text === "not begun")).toHaveLength(1);
  await place[Symbol.asyncDispose]();
});

test("the mode of the next turn is enforced by the kernel, and can be changed back", async () => {
  const write = (name: string) => call("Bash", { command: `grep -c x /dev/null; touch ${name}` });
  await using chat = await openChat([
    write("a"),
    say("1"),
    call("Bash", { command: "ls" }),
    say("2"),
    write("c"),
    say("3"),
  ]);
  const there = () => ["a", "b", "c"].filter((name) => existsSync(join(chat.place.project, name)));
  await chat.ask(input("one"));
  expect(await chat.ask({ op: "settings", id: "plan", mode: "plan" })).toMatchObject({ result: { mode: "plan" } });
  await chat.ask(input("two"));
  expect(await chat.ask({ op: "shell", id: "sh", command: "touch b" })).toMatchObject({ result: { exit_code: 1 } });
  expect(there()).toEqual(["a"]);
  await chat.ask({ op: "settings", id: "auto", mode: "auto" });
  await chat.ask(input("three"));
  expect(there()).toEqual(["a", "c"]);
  await chat.finish();
});

test("settings in a turn hold from the next one", async () => {
  const goOn = Promise.withResolvers<void>();
  await using chat = await openChat([
    reply(call("Bash", { command: "touch a" }), wait(goOn.promise)),
    say("1"),
    call("Bash", { command: "touch b" }),
    say("2"),
  ]);
  chat.submit(input("one"));
  await chat.until(is("turn.start"));
  chat.submit({ op: "settings", id: "plan", mode: "plan" });
  await chat.until((line) => line.type === "accepted" && line.submission === "plan");
  goOn.resolve();
  await chat.reply("plan");
  await chat.ask(input("two"));
  const { events } = await chat.finish();
  const calls = events.filter((line) => line.type === "tool.end");
  expect(calls).toMatchObject([{ ok: true }, { ok: false, denied: "mode plan: write" }]);
});

test("settings are all or nothing", async () => {
  await using chat = await openChat([call("Bash", { command: "touch a" }), say("1")]);
  const change = { op: "settings", id: "s", mode: "plan", cwd: "nowhere" };
  expect(await chat.ask(change)).toMatchObject({
    status: "failed",
    error: { message: expect.stringContaining("nowhere") },
  });
  await chat.ask(input("one"));
  const { events } = await chat.finish();
  expect(events.filter(is("tool.end"))).toMatchObject([{ ok: true }]);
});

test("another directory and another model count from the next turn, in the same session", async () => {
  await using chat = await openChat([say("1"), call("Bash", { command: "pwd" }), say("2")]);
  const id = await sessionOf(chat);
  await chat.ask(input("one"));
  chat.place.write("sub/file", "");
  expect(await chat.ask({ op: "settings", id: "s", cwd: "sub", model: "other" })).toMatchObject({
    status: "done",
    result: { model: "other", cwd: join(chat.place.project, "sub") },
  });
  await chat.ask(input("two"));
  const { events, end } = await chat.finish();
  expect(events.filter(is("session.start"))).toMatchObject([{ session: id }, { session: id, model: "other" }]);
  expect(events.find(is("tool.end"))).toMatchObject({ summary: expect.stringContaining("/sub") });
  expect(chat.server.requests.map(({ body }) => body.model)).toEqual(["scripted", "other", "other"]);
  expect(promptsOf(chat.server.requests[1])).toEqual(["one", "two"]);
  expect([end.session, end.tools.ok]).toEqual([id, 1]);
});

test("another model is asked from the next turn on, and what runs in the background goes on", async () => {
  const background = call("Bash", { command: "sleep 30", background: true });
  await using chat = await openChat([background, say("1"), call("TaskList", {}), say("2")]);
  await chat.ask(input("one"));
  expect(await chat.ask({ op: "settings", id: "s", model: "other", effort: "low" })).toMatchObject({
    status: "done",
    result: { model: "other" },
  });
  await chat.ask(input("two"));
  const { events } = await chat.finish();
  expect(events.filter(is("session.start"))).toHaveLength(1);
  expect(events.findLast(is("tool.end"))).toMatchObject({ summary: expect.stringContaining("running") });
  const asked = chat.server.requests.map(({ body }) => [body.model, body.reasoning_effort]);
  expect(asked.slice(1)).toEqual([
    ["scripted", undefined],
    ["other", "low"],
    ["other", "low"],
  ]);
  expect(JSON.stringify(chat.server.requests.at(-1)?.body.messages)).toContain("other");
});

test("a path that was denied or opened stays so in another directory", async () => {
  // Not in the directory for temporary files, which is hidden from commands.
  const place = makePlace({ "secret.txt": "SECRET", "sub/secret.txt": "open", "out/a": "" }, tree);
  await using chat = await openChat([], { place, args: ["--deny-read", "secret.txt"] });
  expect(await chat.ask({ op: "settings", id: "1", allow_write: ["out"] })).toMatchObject({ status: "done" });
  expect(await chat.ask({ op: "settings", id: "2", cwd: "sub" })).toMatchObject({ status: "done" });
  chat.submit({ op: "shell", id: "sh", command: "cat ../secret.txt; cat secret.txt; touch ../out/b" });
  const shell = await chat.until(is("shell.end"));
  expect(JSON.stringify(shell)).toContain("open");
  expect(JSON.stringify(shell)).not.toContain("SECRET");
  expect(existsSync(join(place.project, "out/b"))).toBe(true);
});

test("a chat that neither the new settings nor the old ones can open ends with the reason, and no bug", async () => {
  await using place = makePlace();
  const lines = [input("a", "go"), { op: "settings", id: "s", allow_write: [place.home] }];
  const stdin = new Blob([lines.map((line) => `${JSON.stringify(line)}\n`).join("")]);
  // The demo can be run once in a directory.
  const { end, events } = checkLines(await koda(place, ["chat", "--json", "-m", "demo"], { stdin }));
  expect(end).toMatchObject({ exit: 2, error: { code: "usage" } });
  expect(events.flatMap((line) => (line.type === "reply" ? line.submission : []))).toEqual(["a", "s"]);
});

test("a command of the user's that runs beside a turn outlives it, and a change that would end it fails", async () => {
  const go = Promise.withResolvers<void>();
  await using chat = await openChat(() => reply(wait(go.promise), say("done")));
  chat.submit(input("a", "go"));
  await chat.until(({ type }) => type === "turn.start");
  chat.submit({ op: "shell", id: "sh", command: "while test ! -e stop; do sleep 0.05; done; exit 7" });
  await chat.until(({ type }) => type === "shell.start");
  chat.submit({ op: "clear", id: "c" }, { op: "settings", id: "s", allow_write: [chat.place.home] });
  go.resolve();
  for (const id of ["a", "c", "s"])
    expect(await chat.reply(id)).toMatchObject(id === "a" ? { status: "done" } : { error: { code: "busy" } });
  chat.place.write("stop", "");
  expect(await chat.reply("sh")).toMatchObject({ status: "done", result: { exit_code: 7 } });
});

test("an answer has to pass the command of the settings, until they say otherwise", async () => {
  await using chat = await openChat([say("1"), call("Write", { path: "ok", content: "" }), say("2"), say("3")]);
  await chat.ask({ op: "settings", id: "v", verify: "test -e ok" });
  expect(await chat.ask(input("one"))).toMatchObject({ status: "done", result: { text: "2" } });
  await chat.ask({ op: "settings", id: "off", verify: null });
  await chat.ask(input("two"));
  const { events } = await chat.finish();
  expect(events.flatMap((line) => (line.type === "verify.end" ? [line.passed] : []))).toEqual([false, true]);
});

test("a chat that began in mode plan does not widen it while something runs in the background", async () => {
  const script = [call("Bash", { command: "sleep 30", background: true }), say("1"), say("2")];
  await using chat = await openChat(script, { args: ["--mode", "plan"] });
  await chat.ask(input("one"));
  expect(await chat.ask({ op: "settings", id: "s", mode: "auto" })).toMatchObject({
    status: "failed",
    error: { code: "busy" },
  });
  expect(await chat.ask(input("two"))).toMatchObject({ status: "done" });
});

test("a directory is not changed while something runs in the background", async () => {
  await using chat = await openChat([call("Bash", { command: "sleep 30", background: true }), say("1")]);
  await chat.ask(input("one"));
  chat.place.write("sub/file", "");
  const refusal = await chat.ask({ op: "settings", id: "s", cwd: "sub" });
  expect(refusal).toMatchObject({
    status: "failed",
    error: { code: "busy", message: expect.stringContaining("background") },
  });
  await chat.finish();
});

test("a command of the user's runs in the sandbox, and the model reads of it", async () => {
  await using chat = await openChat([say("seen")]);
  const ran = await chat.ask({ op: "shell", id: "sh", command: "echo hello; touch /etc/koda-was-here; exit 3" });
  expect(ran).toMatchObject({ status: "done", result: { exit_code: 3 } });
  expect(existsSync("/etc/koda-was-here")).toBe(false);
  await chat.ask(input("a", "what did it say?"));
  const { events } = await chat.finish();
  const own = events.filter(({ type }) => type.startsWith("shell."));
  expect(typesOf(own)).toEqual(["shell.start", "shell.output", "shell.output", "shell.end"]);
  expect(promptsOf(chat.server.requests[0])[0]).toContain("hello");
});

test("undo takes back the last turn and its files", async () => {
  await using chat = await openChat([call("Write", { path: "a.txt", content: "a\n" }), say("1"), say("2")]);
  const path = join(chat.place.project, "a.txt");
  await chat.ask(input("one"));
  expect(readFileSync(path, "utf8")).toBe("a\n");
  expect(await chat.ask({ op: "undo", id: "u" })).toMatchObject({ result: { dropped: 1 } });
  expect(existsSync(path)).toBe(false);
  await chat.ask(input("two"));
  await chat.finish();
  expect(promptsOf(chat.server.requests.at(-1))).toEqual(["two"]);
});

test("a compaction on request replaces what came before by a summary", async () => {
  await using chat = await openChat([say("1"), say("2"), say("3"), say("THE SUMMARY"), say("4")]);
  for (const text of ["one", "two", "three"]) await chat.ask(input(text));
  expect(await chat.ask({ op: "compact", id: "c" })).toMatchObject({ status: "done", result: { compacted: true } });
  await chat.ask(input("four"));
  const { events } = await chat.finish();
  expect(events.filter(is("compact"))).toHaveLength(1);
  expect(promptsOf(chat.server.requests.at(-1)).join("\n")).toContain("THE SUMMARY");
});

test("clear begins another session with the same settings", async () => {
  await using chat = await openChat([say("1"), say("2")]);
  const id = await sessionOf(chat);
  await chat.ask(input("one"));
  await chat.ask({ op: "settings", id: "plan", mode: "plan" });
  await chat.ask({ op: "clear", id: "c" });
  await chat.ask(input("two"));
  const { events, end } = await chat.finish();
  expect(events.filter(is("session.start"))).toMatchObject([{ mode: "auto" }, { mode: "plan", source: "new" }]);
  expect(end.session).not.toBe(id);
  expect(promptsOf(chat.server.requests[1])).toEqual(["two"]);
});

test("lists answer at once, also while a turn runs", async () => {
  const goOn = Promise.withResolvers<void>();
  await using chat = await openChat([reply(say("1"), wait(goOn.promise))]);
  chat.submit(input("one"));
  await chat.until(is("turn.start"));
  expect(await chat.ask({ op: "tools.list", id: "t" })).toMatchObject({
    result: { tools: expect.arrayContaining([{ name: "Bash", about: expect.any(String) }]) },
  });
  expect(await chat.ask({ op: "agents.list", id: "g" })).toMatchObject({
    result: { agents: expect.arrayContaining([expect.objectContaining({ name: "explore", scope: "built-in" })]) },
  });
  for (const op of ["skills.list", "prompts.list", "mcp.list"])
    expect(await chat.ask({ op, id: op })).toMatchObject({ status: "done" });
  goOn.resolve();
  await chat.finish();
});

test("a list is not kept, and made again when it is submitted again", async () => {
  await using chat = await openChat([say("1")]);
  const ask = { op: "tools.list", id: "t" };
  const first = await chat.ask(ask);
  await chat.ask({ op: "skills.list", id: "s", reload: true });
  await chat.ask(input("one"));
  expect(await chat.ask(ask)).toMatchObject({ status: "done", result: first.result });
  await chat.finish();
  using db = new Database(join(chat.place.home, ".local/share/koda/koda.db"));
  const kept = db.query("SELECT id, state, reply IS NULL AS forgotten FROM submission ORDER BY number").all();
  expect(kept).toEqual([
    { id: "t", state: "answered", forgotten: 1 },
    { id: "s", state: "answered", forgotten: 1 },
    { id: "one", state: "answered", forgotten: 0 },
  ]);
});

describe("skills.list", () => {
  const skill = (name: string) => `---\nname: ${name}\ndescription: About ${name}.\n---\nDo it.\n`;
  const others = { "a/.koda/skills/one/SKILL.md": skill("one"), "b/.agents/skills/two/SKILL.md": "no fields" };

  test("shows other directories, of which skills count as far as they would there", async () => {
    for (const [args, one, errors] of [
      [[], { skills: [], errors: [], skipped: [".koda/skills/one"] }, []],
      [["--trust-project"], { skills: [{ name: "one", scope: "project" }], errors: [], skipped: [] }, [/two/]],
    ] as const) {
      const place = makePlace(others);
      await using chat = await openChat([], { place, args });
      const cwds = ["a", join(place.project, "b"), "nowhere"];
      const { status, result } = await chat.ask({ op: "skills.list", id: "s", cwds });
      expect(status).toBe("done");
      const { directories } = result as { directories: { cwd: string; errors: string[] }[] };
      expect(directories.map(({ cwd }) => cwd)).toEqual(cwds);
      expect(directories[0]).toMatchObject(one);
      for (const [at, error] of errors.entries()) expect(directories[1]?.errors[at]).toMatch(error);
      expect(directories[1]?.errors).toHaveLength(errors.length);
      expect(directories[2]?.errors).toEqual([expect.stringContaining('/nowhere": no such')]);
      await chat.finish();
    }
  });

  test("reads from the disk again when it is asked to", async () => {
    const place = makePlace();
    await using chat = await openChat([], { place, args: ["--trust-project"] });
    await chat.until(is("session.start"));
    place.write(".koda/skills/late/SKILL.md", skill("late"));
    expect(await chat.ask({ op: "skills.list", id: "1" })).toMatchObject({ result: { skills: [] } });
    const read = await chat.ask({ op: "skills.list", id: "2", reload: true });
    expect(read).toMatchObject({ result: { skills: [{ name: "late", description: "About late." }] } });
    await chat.finish();
  });
});

test("inputs are kept across sessions, for their user alone", async () => {
  await using place = makePlace();
  const file = join(place.home, ".local/share/koda/history.jsonl");
  const add = (text: string) => ({ op: "history.add", id: text, text });
  await using first = await openChat([], { place });
  await using second = await openChat([], { place });
  const texts = Array.from({ length: 50 }, (_, index) => `input ${index}\nof two lines`);
  texts.forEach((text, index) => (index % 2 === 0 ? first : second).submit(add(text)));
  for (const [index, text] of texts.entries())
    expect(await (index % 2 === 0 ? first : second).reply(text)).toMatchObject({ status: "done" });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  appendFileSync(file, '{"text":"ha');
  await first.ask(add("after half a line"));
  const { result } = await first.ask({ op: "history.get", id: "all" });
  expect(result).toEqual({ log: expect.any(String), count: 52 });
  const { log } = result as { log: string };
  const at = (offset: number, id: string, of = log) => first.ask({ op: "history.get", id, offset, log: of });
  const kept: unknown[] = [];
  for (const index of texts.keys()) kept.push((await at(index, `get ${index}`)).result);
  expect(kept.map((each) => (each as { text: string }).text).sort()).toEqual([...texts].sort());
  expect((await at(51, "y")).result).toMatchObject({ text: "after half a line" });
  for (const [offset, id, of] of [
    [50, "half", log],
    [52, "none", log],
    [0, "other", "1"],
  ] as const)
    expect((await at(offset, id, of)).result).toEqual({ log, count: 52 });
  await using none = await openChat([], { place, args: ["--ephemeral"] });
  expect(await none.ask(add("secret"))).toMatchObject({ status: "failed", error: { code: "usage" } });
  expect(readFileSync(file, "utf8")).not.toContain("secret");
});

test("an agent in the background that ends between turns wakes the model", async () => {
  const goOn = Promise.withResolvers<void>();
  await using chat = await openChat(async ({ lines }) => {
    const last = lines.at(-1)?.text ?? "";
    if (last.includes("DIG")) return (await goOn.promise, say("found it"));
    if (lines.some(({ text }) => text.includes("found it"))) return say("The agent found it.");
    if (lines.at(-1)?.role === "tool") return say("started");
    return call("InvokeAgent", { agent: "explore", prompt: "DIG", background: true });
  });
  expect(await chat.ask(input("one"))).toMatchObject({ result: { text: "started" } });
  goOn.resolve();
  await chat.until((line) => line.type === "text.done" && line.text === "The agent found it.");
  const { end } = await chat.finish();
  expect([end.text, end.agents]).toEqual(["The agent found it.", { ok: 1, failed: 0, cancelled: 0 }]);
});

test.each([
  ["a usage error", ["--modle", "x"], 2],
  ["a missing key", ["-m", "openai/gpt-5.5"], 4],
])("%s is told by a lone end, whatever is on stdin", async (_, args, exit) => {
  await using place = makePlace();
  const ran = await koda(place, ["chat", "--json", ...args], { stdin: '{"op":"input","text":"a"}\n' });
  const lines = ran.stdout.trim().split("\n");
  expect([lines.length, ran.exit]).toEqual([1, exit]);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ type: "end", exit, session: null });
});

/** KODA_SEQUENCES=1000 makes as many changes. */
const changes = Number(process.env.KODA_SEQUENCES ?? 60);

test("a path that was hidden stays hidden, whatever settings follow", async () => {
  const place = makePlace({ "secret.txt": "THE SECRET\n", "sub/deep/file": "", "other/file": "" });
  const random = seeded(7);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const { project } = place;
  const kinds = [
    () => ({ cwd: pick([project, `${project}/sub`, `${project}/sub/deep`, `${project}/other`]) }),
    () => ({ mode: pick(["plan", "safe", "auto"]) }),
    () => ({ allow_write: [pick([project, `${project}/other`])] }),
    () => ({ deny_read: [pick(["file", `${project}/other/file`])] }),
    () => ({ net: pick(["none", "allowlist"]), allow_net: ["example.com"] }),
    () => ({ model: pick(["one", "two"]), effort: "low" }),
  ];
  await using chat = await openChat([], { place, args: ["--deny-read", "secret.txt"] });
  for (let count = 0; count < changes; count++) {
    await chat.ask({ op: "settings", id: `s${count}`, ...pick(kinds)() });
    const read = { op: "shell", id: `r${count}`, command: `cat ${project}/secret.txt` };
    if (count % 5 === 4) expect(await chat.ask(read)).toMatchObject({ result: { exit_code: 1 } });
  }
  const { stdout } = await chat.finish();
  expect(stdout).not.toContain("THE SECRET");
}, 600_000);
