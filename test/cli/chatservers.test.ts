import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { openChat } from "../support/chat.ts";
import type { Line } from "../support/koda.ts";
import { serverOf } from "../support/mcp.ts";
import { call, reply, say, wait } from "../support/model-reply.ts";
import { configure, makePlace } from "../support/place.ts";
import { until } from "../support/until.ts";

const input = (id: string) => ({ op: "input", id, text: id });
const tool = (name: string, more: object = {}) => ({
  name,
  description: name,
  does: "echo" as const,
  annotations: { readOnlyHint: true },
  ...more,
});
const server = (name: string) => serverOf({ tools: [tool(name)] }, { required: true });
const callsIn = (events: readonly Line[]) =>
  events.flatMap((line) => (line.type === "tool.end" ? [[line.tool, line.ok]] : []));

test("a refresh takes the servers that the configuration has now", async () => {
  const place = makePlace();
  configure(place, { mcp: { servers: { old: server("one") } } });
  await using chat = await openChat([call("old__one", {}), say("1"), call("new__two", {}), say("2")], { place });
  await chat.ask(input("a"));
  configure(place, { mcp: { servers: { new: server("two") } } });
  expect(await chat.ask({ op: "mcp.refresh", id: "r" })).toMatchObject({
    status: "done",
    result: { servers: [{ name: "new", status: "connected" }] },
  });
  await chat.ask(input("b"));
  expect(await chat.ask({ op: "mcp.list", id: "l" })).toMatchObject({ result: { servers: [{ name: "new" }] } });
  const { events, end } = await chat.finish();
  expect(callsIn(events)).toEqual([
    ["old__one", true],
    ["new__two", true],
  ]);
  expect(end.mcp).toBeUndefined();
});

test("a refresh in a turn leaves its servers alone until the turn is over, and the next refresh replaces it", async () => {
  const place = makePlace();
  const goOn = Promise.withResolvers<void>();
  configure(place, { mcp: { servers: { s: server("one") } } });
  await using chat = await openChat(
    [
      reply(call("Read", { path: "." }), wait(goOn.promise)),
      call("s__one", {}),
      say("1"),
      call("s__two", {}),
      say("2"),
    ],
    { place },
  );
  chat.submit(input("a"));
  await chat.until(({ type }) => type === "turn.start");
  configure(place, { mcp: { servers: { s: server("two") } } });
  chat.submit({ op: "mcp.refresh", id: "r" }, { op: "mcp.refresh", id: "again" });
  await chat.until((line) => line.type === "accepted" && line.submission === "again");
  goOn.resolve();
  expect(await chat.reply("a")).toMatchObject({ result: { text: "1" } });
  expect(await chat.reply("r")).toMatchObject({ result: { replaced: true } });
  expect(await chat.reply("again")).toMatchObject({ result: { servers: [{ name: "s", status: "connected" }] } });
  await chat.ask(input("b"));
  const { events } = await chat.finish();
  expect(callsIn(events).slice(1)).toEqual([
    ["s__one", true],
    ["s__two", true],
  ]);
});

test.each([
  ["a configuration that cannot be read", "{ broken"],
  ["a required server that does not start", { mcp: { servers: { s: { command: "/nowhere", required: true } } } }],
])("%s leaves the servers as they are, with a warning", async (_, config) => {
  const place = makePlace();
  configure(place, { mcp: { servers: { s: server("one") } } });
  await using chat = await openChat([call("s__one", {}), say("1")], { place });
  await chat.until(({ type }) => type === "session.start");
  configure(place, config);
  expect(await chat.ask({ op: "mcp.refresh", id: "r" })).toMatchObject({ status: "failed" });
  await chat.ask(input("a"));
  const { events } = await chat.finish();
  expect(callsIn(events)).toEqual([["s__one", true]]);
  expect(events.find((line) => line.type === "notice" && line.code === "mcp")).toMatchObject({
    level: "warn",
    message: expect.stringContaining("The MCP servers are as before"),
  });
});

test("a refresh takes a file of servers beside the others", async () => {
  const place = makePlace();
  await using chat = await openChat([call("more__one", {}), say("1")], { place });
  const { command, args } = server("one");
  const file = place.write("more.json", JSON.stringify({ mcpServers: { more: { command, args, required: true } } }));
  configure(place, { sandbox: {}, mcp: {} });
  await chat.ask({ op: "settings", id: "s", allow_read: [process.cwd()] });
  expect(await chat.ask({ op: "mcp.refresh", id: "r", config: file })).toMatchObject({ status: "done" });
  await chat.ask(input("a"));
  const { events } = await chat.finish();
  expect(callsIn(events)).toEqual([["more__one", true]]);
});

test("an interrupt ends the start of servers", async () => {
  const place = makePlace();
  await using chat = await openChat([say("1")], { place });
  await chat.until(({ type }) => type === "session.start");
  configure(place, { mcp: { servers: { s: serverOf({ silent: true }, { required: true }) } } });
  chat.submit({ op: "mcp.refresh", id: "r" });
  await chat.until((line) => line.type === "accepted" && line.submission === "r");
  await chat.ask({ op: "interrupt", id: "i" });
  expect(await chat.reply("r")).toMatchObject({ status: "cancelled" });
  expect(await chat.ask(input("a"))).toMatchObject({ status: "done" });
  await chat.finish();
});

test("an interrupt ends the very first start of servers, and what was to begin then", async () => {
  const place = makePlace();
  const started = join(place.project, "started");
  const silent = serverOf({ silent: true, starts: started }, { required: true, start_timeout: "10m" });
  configure(place, { mcp: { servers: { silent } } });
  await using chat = await openChat([say("1")], { place });
  chat.submit(input("a"));
  await until(() => existsSync(started));
  chat.submit({ op: "interrupt", id: "i" });
  const start = await chat.until(({ type }) => type === "session.start");
  expect(start).toMatchObject({ mcp: [{ name: "silent", status: "failed", error: "its start was interrupted" }] });
  const told = new Map<string, Line>();
  while (told.size < 2) {
    const line = await chat.until(({ type }) => type === "reply");
    if (line.type === "reply") told.set(line.submission, line);
  }
  expect(told.get("a")).toMatchObject({ status: "cancelled", error: { code: "interrupted" } });
  expect(told.get("i")).toMatchObject({ status: "done", result: { interrupted: true } });
  expect(await chat.ask(input("b"))).toMatchObject({ status: "done" });
  expect(await chat.ask({ op: "interrupt", id: "again" })).toMatchObject({ result: { interrupted: false } });
  const { events } = await chat.finish();
  const notice = events.find((line) => line.type === "notice" && line.code === "mcp");
  expect(notice).toMatchObject({ message: expect.stringContaining('interrupted, and "silent" is not used') });
});

test("the program of a server can write in mode auto alone, also after a change of the mode", async () => {
  const place = makePlace();
  const plan = { tools: [tool("sh", { does: "run" })] };
  configure(place, { mcp: { servers: { s: serverOf(plan, { required: true }) } } });
  const touch = (name: string) => call("s__sh", { command: `touch ${name}` });
  await using chat = await openChat([touch("a"), say("1"), touch("b"), say("2"), touch("c"), say("3")], { place });
  await chat.ask(input("one"));
  await chat.ask({ op: "settings", id: "plan", mode: "plan" });
  await chat.ask(input("two"));
  await chat.ask({ op: "settings", id: "auto", mode: "auto" });
  await chat.ask(input("three"));
  await chat.finish();
  expect(["a", "b", "c"].filter((name) => existsSync(`${place.project}/${name}`))).toEqual(["a", "c"]);
});

test("a server that fails after the start is told of once", async () => {
  const place = makePlace();
  const failing = { command: "sh", args: ["-c", "until [ -e go ]; do sleep 0.05; done; exit 3"] };
  configure(place, { mcp: { servers: { late: failing } } });
  await using chat = await openChat([call("Bash", { command: "touch go" }), say("1"), say("2"), say("3")], { place });
  await chat.ask(input("a"));
  for (let state = "", count = 0; state !== "failed"; count++) {
    const { result } = await chat.ask({ op: "mcp.list", id: `list-${count}` });
    state = (result as { servers: readonly { status: string }[] }).servers[0]?.status ?? "";
  }
  await chat.ask(input("b"));
  await chat.ask(input("c"));
  const { events } = await chat.finish();
  const notices = events.filter((line) => line.type === "notice" && line.message.includes('"late" failed'));
  expect(notices).toHaveLength(1);
});
