import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openChat } from "../support/chat.ts";
import { exec, type Line } from "../support/koda.ts";
import { serverOf } from "../support/mcp.ts";
import { call, reply, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { configure, makePlace } from "../support/place.ts";

type Request = Extract<Line, { type: "approval.request" }>;

const isRequest = (line: Line): line is Request => line.type === "approval.request";
const input = (id: string) => ({ op: "input", id, text: id });
const touch = (...names: string[]) => call("Bash", { command: `touch ${names.join(" ")}` });
const safe = { args: ["--mode", "safe"] };

async function open(...[script, options = {}]: Parameters<typeof openChat>) {
  const chat = await openChat(script, { ...safe, ...options });
  return {
    ...chat,
    there: (...names: string[]) => names.filter((name) => existsSync(join(chat.place.project, name))),
    request: async () => (await chat.until(isRequest)) as Request,
    answer: (decision: string, { id }: { id: string }, feedback?: string) =>
      chat.submit({ op: "approve", call: id, decision, ...(feedback && { feedback }) }),
  };
}

test("a call in mode safe waits for its approval, and runs once it has it", async () => {
  await using chat = await open([touch("a.txt"), say("done")]);
  chat.submit(input("go"));
  const request = await chat.request();
  expect(request).toMatchObject({
    tool: "Bash",
    input: { command: "touch a.txt" },
    effect: "write",
    rule: "mode safe: write",
    cwd: chat.place.project,
    prefix: "touch",
    decisions: ["once", "session", "prefix", "deny", "abort"],
  });
  expect(chat.there("a.txt")).toEqual([]);
  chat.answer("once", request);
  expect(await chat.until(({ type }) => type === "approval.decision")).toMatchObject({
    id: request.id,
    decision: "once",
  });
  expect(await chat.reply("go")).toMatchObject({ status: "done" });
  expect(chat.there("a.txt")).toEqual(["a.txt"]);
  const { end } = await chat.finish();
  expect(end.tools).toEqual({ ok: 1, failed: 0, denied: 0 });
});

test("a denial is told to the model with the user's words, and counted", async () => {
  await using chat = await open([touch("a.txt"), say("then not")]);
  chat.submit(input("go"));
  chat.answer("deny", await chat.request(), "use b.txt");
  await chat.reply("go");
  const { end, events } = await chat.finish();
  expect(end.tools).toEqual({ ok: 0, failed: 0, denied: 1 });
  expect(events.find(({ type }) => type === "tool.end")).toMatchObject({
    ok: false,
    denied: "mode safe: write",
    summary: expect.stringContaining("use b.txt"),
  });
  expect(chat.there("a.txt")).toEqual([]);
});

/** The reply to an input, of which each question is answered so; and the number of these. */
async function asked(chat: Awaited<ReturnType<typeof open>>, id: string): Promise<number> {
  chat.submit(input(id));
  for (let count = 0; ; count++) {
    const line = await chat.until((one) => isRequest(one) || (one.type === "reply" && one.submission === id));
    if (!isRequest(line)) return count;
    chat.answer("session", line);
  }
}

test("an approval for the session ends with a change of the directory, and with the session", async () => {
  await using place = makePlace({ "below/b": "" });
  const script = [touch("a"), touch("b"), say("1"), touch("a"), say("2"), touch("a"), say("3"), touch("a"), say("4")];
  await using chat = await open(script, { place });
  expect(await asked(chat, "one")).toBe(1);
  await chat.ask({ op: "settings", id: "same", cwd: "." });
  expect(await asked(chat, "two")).toBe(0);
  expect(await chat.ask({ op: "settings", id: "cd", cwd: "below" })).toMatchObject({ status: "done" });
  expect(await asked(chat, "three")).toBe(1);
  await chat.ask({ op: "clear", id: "clear" });
  expect(await asked(chat, "four")).toBe(1);
  await chat.finish();
});

test("an approval of a server's tool ends when the servers are started again", async () => {
  await using place = makePlace();
  configure(place, { mcp: { servers: { s: serverOf({ tools: [{ name: "echo", does: "echo" }] }) } } });
  const both = [call("s__echo", {}), touch("a")];
  const script = [...both, say("1"), ...both, say("2"), ...both, say("3")];
  await using chat = await open(script, { place });
  expect(await asked(chat, "one")).toBe(2);
  expect(await asked(chat, "two")).toBe(0);
  await chat.ask({ op: "mcp.refresh", id: "refresh" });
  expect(await asked(chat, "three")).toBe(1);
  await chat.finish();
});

test("an approval for the session covers the tool and its effect, and not a destructive call", async () => {
  await using chat = await open([
    touch("a"),
    touch("b"),
    call("Bash", { command: "git push --force origin main" }),
    say("done"),
  ]);
  chat.submit(input("go"));
  chat.answer("session", await chat.request());
  const destructive = await chat.request();
  expect(destructive).toMatchObject({ effect: "destructive", decisions: ["once", "deny", "abort"] });
  expect(chat.there("a", "b")).toEqual(["a", "b"]);
  chat.submit({ op: "approve", id: "no", call: destructive.id, decision: "session" });
  expect(await chat.reply("no")).toMatchObject({
    status: "failed",
    error: { message: expect.stringContaining("only once") },
  });
  chat.answer("deny", destructive);
  await chat.reply("go");
  await chat.finish();
});

test("an approved start of a command is saved in the user's configuration, and counts for later runs", async () => {
  const place = makePlace();
  const file = configure(place, '{\n  // mine\n  "mode": "safe"\n}\n');
  await using chat = await open([touch("a"), touch("b"), call("Bash", { command: "touch c; mkdir d" }), say("done")], {
    place,
    args: [],
  });
  chat.submit(input("go"));
  chat.answer("prefix", await chat.request());
  const other = await chat.request();
  expect(other.input).toEqual({ command: "touch c; mkdir d" });
  expect(other.prefix).toBeUndefined();
  chat.answer("deny", other);
  await chat.reply("go");
  expect(chat.there("a", "b", "c")).toEqual(["a", "b"]);
  expect(readFileSync(file, "utf8")).toContain("// mine");
  expect(readFileSync(file, "utf8").replace(/\s+/g, "")).toContain('"approvals":{"commands":["touch"]}');
  await using server = await startModelServer([touch("e"), call("Write", { path: "f", content: "" }), say("done")]);
  const { end } = await exec(place, server, ["again"]);
  expect(end.tools).toEqual({ ok: 1, failed: 0, denied: 1 });
  await chat.finish();
});

test("a start that cannot be saved counts in this chat, with a warning", async () => {
  const place = makePlace();
  mkdirSync(join(place.home, ".config/koda/config.json"), { recursive: true });
  await using chat = await open([touch("a"), touch("b"), say("done")], { place, args: ["--bare", "--mode", "safe"] });
  chat.submit(input("go"));
  chat.answer("prefix", await chat.request());
  await chat.reply("go");
  const { events } = await chat.finish();
  expect(events.filter(isRequest)).toHaveLength(1);
  expect(events.find((line) => line.type === "notice" && line.code === "approval")).toMatchObject({ level: "warn" });
  expect(chat.there("a", "b")).toEqual(["a", "b"]);
});

test.each(["bash -c 'touch a'", "env touch a", "touch a && touch b", "X=1 touch a", "touch a > b", "$CMD a"])(
  "no start is offered for %s",
  async (command) => {
    await using chat = await open([call("Bash", { command }), say("done")]);
    chat.submit(input("go"));
    const request = await chat.request();
    expect(request.prefix).toBeUndefined();
    expect(request.decisions).not.toContain("prefix");
    chat.answer("deny", request);
    await chat.reply("go");
  },
);

test("two questions at once are answered independently", async () => {
  await using chat = await open([
    reply(
      call("Write", { path: "a", content: "a" }, { id: "one" }),
      call("Write", { path: "b", content: "b" }, { id: "two" }),
    ),
    say("done"),
  ]);
  chat.submit(input("go"));
  const [first, second] = [await chat.request(), await chat.request()];
  chat.answer("deny", first);
  chat.answer("once", second);
  await chat.reply("go");
  const { end } = await chat.finish();
  expect(end.tools).toEqual({ ok: 1, failed: 0, denied: 1 });
  expect(chat.there("a", "b")).toEqual([second.id === "one" ? "a" : "b"]);
});

test("an abort denies the call and ends the turn", async () => {
  await using chat = await open([touch("a"), say("not reached")]);
  chat.submit(input("go"));
  chat.answer("abort", await chat.request());
  expect(await chat.reply("go")).toMatchObject({ status: "cancelled" });
  const { end } = await chat.finish();
  expect([end.tools.denied, end.exit]).toEqual([1, 130]);
  expect(chat.server.requests).toHaveLength(1);
});

test.each(["interrupt", "shutdown"])("an %s denies an open question", async (op) => {
  await using chat = await open([touch("a"), say("not reached")]);
  chat.submit(input("go"));
  await chat.request();
  await chat.ask({ op, id: "stop" });
  await chat.reply("go");
  const { end, events } = await chat.finish();
  expect(events.find(({ type }) => type === "approval.decision")).toMatchObject({ decision: "deny" });
  expect([end.tools.denied, chat.there("a")]).toEqual([1, []]);
});

test("a signal denies an open question", async () => {
  await using chat = await open([touch("a"), say("not reached")]);
  chat.submit(input("go"));
  await chat.request();
  chat.child.kill("SIGTERM");
  const { end, exit } = await chat.finish();
  expect([exit, end.tools]).toEqual([143, { ok: 0, failed: 0, denied: 1 }]);
});

test("the end of input denies what waits for an approval, and what comes then", async () => {
  await using chat = await open([touch("a"), touch("b"), say("done")]);
  chat.submit(input("go"));
  await chat.request();
  const { end, events } = await chat.finish();
  expect([end.status, end.tools.denied]).toEqual(["done", 2]);
  expect(events.filter(isRequest)).toHaveLength(1);
});

test("an answer to no question is a notice", async () => {
  await using chat = await open([say("done")]);
  expect(await chat.ask({ op: "approve", id: "x", call: "nowhere", decision: "once" })).toMatchObject({
    status: "failed",
  });
  const { events } = await chat.finish();
  expect(events.find(({ type }) => type === "notice")).toMatchObject({
    message: 'No call "nowhere" waits for approval',
  });
});

test("an edit is asked about with its change", async () => {
  await using chat = await open(
    [
      call("Read", { path: "a.txt" }),
      call("Edit", { path: "a.txt", edits: [{ old: "one", new: "two" }] }),
      say("done"),
    ],
    { place: makePlace({ "a.txt": "one\n" }) },
  );
  chat.submit(input("go"));
  const request = await chat.request();
  expect(request.preview).toContain("-one\n+two");
  chat.answer("once", request);
  await chat.reply("go");
  await chat.finish();
});

test("a question stops the clock of --idle-timeout", async () => {
  await using chat = await open([touch("a"), say("done")], { args: ["--mode", "safe", "--idle-timeout", "300ms"] });
  chat.submit(input("go"));
  const request = await chat.request();
  await Bun.sleep(900);
  chat.answer("once", request);
  expect(await chat.reply("go")).toMatchObject({ status: "done" });
});

test("agents are not asked about", async () => {
  await using chat = await open(async ({ lines }) => {
    const isAgent = lines.some(({ text }) => text.includes("AGENT TASK")) && !lines.some(({ text }) => text === "go");
    if (isAgent) return lines.at(-1)?.role === "tool" ? say("could not") : touch("a");
    return lines.at(-1)?.role === "tool" ? say("done") : call("InvokeAgent", { agent: "task", prompt: "AGENT TASK" });
  });
  await chat.ask(input("go"));
  const { end, events } = await chat.finish();
  expect([events.filter(isRequest), end.tools.denied]).toEqual([[], 1]);
  expect(chat.there("a")).toEqual([]);
});

test("a project cannot approve commands", async () => {
  const place = makePlace({ ".koda/config.json": '{"approvals":{"commands":["touch"]}}' });
  await using server = await startModelServer([touch("a"), say("done")]);
  const { end, events } = await exec(place, server, ["--mode", "safe", "--trust-project", "go"]);
  expect(end.tools.denied).toBe(1);
  expect(events[0]).toMatchObject({ skipped: [".koda/config.json: approvals.commands"] });
  await place[Symbol.asyncDispose]();
});
