import { expect, test } from "bun:test";
import { openChat } from "../support/chat.ts";
import { exec, type Line } from "../support/koda.ts";
import { serverOf } from "../support/mcp.ts";
import { modern, packaged, startEverything } from "../support/mcp-packages.ts";
import { call, type Entry, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { configure, makePlace } from "../support/place.ts";

type Request = Extract<Line, { type: "elicitation.request" }>;

const input = (id: string) => ({ op: "input", id, text: id });
const isRequest = (line: Line): line is Request => line.type === "elicitation.request";
const resultsIn = (events: readonly Line[]) => events.filter((line) => line.type === "tool.end");
const decisionsIn = (events: readonly Line[]) =>
  events.flatMap((line) => (line.type === "elicitation.decision" ? [line.decision] : []));

const fields = {
  name: { type: "string", title: "Name", minLength: 2 },
  age: { type: "integer", minimum: 18 },
  mail: { type: "string", format: "email" },
  isNew: { type: "boolean", default: true },
  plan: {
    type: "string",
    oneOf: [
      { const: "s", title: "Small" },
      { const: "l", title: "Large" },
    ],
  },
  days: { type: "array", items: { type: "string", enum: ["mon", "tue", "wed"] }, minItems: 1 },
};
const form = {
  message: "Who are you?",
  // A pattern is not in the protocol: to check a value by it may take for ever.
  requestedSchema: {
    type: "object",
    properties: { ...fields, name: { ...fields.name, pattern: "^(a+)+$" } },
    required: ["name", "age", "days"],
  },
};
const page = (url: string) => ({ mode: "url", message: "Sign in", elicitationId: "e1", url });

const tools = (["elicit", "drop", "withdraw", "require", "hang"] as const).map((does) => ({
  name: does,
  does,
  annotations: { readOnlyHint: true },
}));
const elicit = (ask?: unknown) => call("s__elicit", ask === undefined ? {} : { ask });

/** A chat with a server that asks, whose first input is under way. */
async function open(
  script: readonly Entry[],
  { args = [] as readonly string[], server = serverOf({ tools }) as Record<string, unknown> } = {},
) {
  const place = makePlace();
  configure(place, { mcp: { servers: { s: server } } });
  const chat = await openChat(script, { place, args });
  chat.submit(input("go"));
  return {
    ...chat,
    request: async () => (await chat.until(isRequest)) as Request,
    answer: (request: string, decision: string, content?: unknown) =>
      chat.ask({
        op: "elicit",
        id: crypto.randomUUID(),
        server: "s",
        request,
        decision,
        ...(content !== undefined && { content }),
      }),
  };
}

test("a server's question is answered by the user, whose values have to match", async () => {
  await using chat = await open([elicit(form), say("done")]);
  const request = await chat.request();
  expect(request).toMatchObject({ server: "s", message: "Who are you?", schema: { properties: fields } });
  expect(JSON.stringify(request.schema)).not.toContain("pattern");
  const good = { name: "Ada", age: 36, mail: "ada@example.com", isNew: false, plan: "l", days: ["mon", "wed"] };
  const wrong = [
    [undefined, "name"],
    [{ ...good, age: 17 }, "- age: "],
    [{ ...good, age: "36" }, "- age: "],
    [{ ...good, mail: "ada" }, "- mail: "],
    [{ ...good, plan: "Large" }, "- plan: "],
    [{ ...good, days: ["sun"] }, "- days.0: "],
    [{ ...good, days: [] }, "- days: "],
    [{ ...good, nmae: "Ada" }, "- nmae: there is no such property"],
  ] as const;
  for (const [content, reason] of wrong)
    expect(await chat.answer(request.id, "accept", content)).toMatchObject({
      status: "failed",
      error: { code: "usage", message: expect.stringContaining(reason) },
    });
  expect(await chat.answer(request.id, "accept", good)).toMatchObject({ status: "done" });
  expect(await chat.reply("go")).toMatchObject({ status: "done" });
  const { events } = await chat.finish();
  expect(decisionsIn(events)).toEqual(["accept"]);
  expect(JSON.parse(resultsIn(events)[0]?.summary ?? "")).toEqual({ action: "accept", content: good });
});

test.each(["decline", "cancel"])("the server is told of a %s", async (decision) => {
  await using chat = await open([elicit(form), say("done")]);
  const { id } = await chat.request();
  const needless = await chat.answer(id, decision, { name: "Ada" });
  expect(needless).toMatchObject({ status: "failed", error: { message: expect.stringContaining('"content"') } });
  expect(await chat.answer(id, decision)).toMatchObject({ status: "done" });
  await chat.reply("go");
  const { events } = await chat.finish();
  expect(resultsIn(events)).toMatchObject([{ ok: true, summary: JSON.stringify({ action: decision }) }]);
  expect(decisionsIn(events)).toEqual([decision]);
});

test("an answer to no question, or to that of another server, is refused", async () => {
  await using chat = await open([elicit(form), say("done")]);
  const { id } = await chat.request();
  expect(await chat.answer("other", "decline")).toMatchObject({ status: "failed" });
  const other = await chat.ask({ op: "elicit", id: "o", server: "t", request: id, decision: "decline" });
  expect(other).toMatchObject({ status: "failed", error: { message: expect.stringContaining('"t"') } });
  await chat.answer(id, "decline");
  expect(await chat.answer(id, "accept", {})).toMatchObject({ status: "failed" });
  await chat.reply("go");
  await chat.finish();
});

test("an interrupt and the end of input cancel a question", async () => {
  await using interrupted = await open([elicit(form), say("again")]);
  await interrupted.request();
  await interrupted.ask({ op: "interrupt", id: "i" });
  expect(await interrupted.reply("go")).toMatchObject({ status: "cancelled" });
  expect(await interrupted.ask(input("more"))).toMatchObject({ status: "done" });
  const { events } = await interrupted.finish();
  expect(decisionsIn(events)).toEqual(["cancel"]);

  await using ended = await open([elicit(form), say("then so")]);
  await ended.request();
  const rest = await ended.finish();
  expect(decisionsIn(rest.events)).toEqual(["cancel"]);
  expect(resultsIn(rest.events)).toMatchObject([{ ok: true, summary: '{"action":"cancel"}' }]);
  expect(rest.end.text).toBe("then so");
});

test("a question that the server takes back or does not wait for is cancelled", async () => {
  await using chat = await open([call("s__withdraw"), call("s__drop"), say("done")]);
  const { id } = await chat.request();
  chat.place.write("now", "");
  expect(await chat.reply("go")).toMatchObject({ status: "done" });
  expect(await chat.answer(id, "decline")).toMatchObject({ status: "failed" });
  const { events } = await chat.finish();
  expect(decisionsIn(events).every((decision) => decision === "cancel")).toBe(true);
  expect(resultsIn(events)).toMatchObject([{ summary: "withdrawn" }, { summary: "dropped" }]);
});

test.each([
  ["accept", { name: "Ada" }, "Hello, Ada"],
  ["decline", undefined, "Hello, whoever you are"],
])("a server of the protocol of 2026 asks too: %s", async (decision, content, said) => {
  await using chat = await open([call("s__greet"), say("done")], { server: modern() });
  const request = await chat.request();
  expect(request.message).toBe("Your name?");
  await chat.answer(request.id, decision, content);
  await chat.reply("go");
  const { events } = await chat.finish();
  expect(resultsIn(events)).toMatchObject([{ ok: true, summary: said }]);
});

test.each(["stdio", "http"])(
  "the reference server asks over %s, for a form of all kinds and for a page",
  async (way) => {
    await using place = makePlace();
    await using http = way === "http" ? await startEverything(place) : undefined;
    const script = [
      call("s__trigger-elicitation-request"),
      call("s__trigger-url-elicitation", { url: "https://example.com/x", message: "Look" }),
      say("done"),
    ];
    const server = http === undefined ? packaged("everything") : { url: http.url, required: true };
    await using chat = await open(script, { server });
    const form = await chat.request();
    const content = { name: "Ada", birthdate: "1815-12-10", titledMultipleSelectEnum: ["fish-1", "fish-3"] };
    const wrong = await chat.answer(form.id, "accept", { ...content, birthdate: "10.12.1815" });
    expect(wrong).toMatchObject({ status: "failed" });
    await chat.answer(form.id, "accept", content);
    const { id, host } = await chat.request();
    expect(host).toBe("example.com");
    await chat.answer(id, "accept");
    await chat.reply("go");
    const { events } = await chat.finish();
    const [filled, visited] = resultsIn(events).map(({ summary }) => summary);
    expect(JSON.parse(filled?.split("Raw result: ")[1] ?? "")).toEqual({ action: "accept", content });
    expect(visited).toContain("completed the URL elicitation");
  },
);

test("the time of the user counts neither for the call nor as idle", async () => {
  const options = { args: ["--idle-timeout", "1s"], server: serverOf({ tools }, { call_timeout: "1s" }) };
  await using chat = await open([elicit(form), say("done")], options);
  const { id } = await chat.request();
  await Bun.sleep(1_500);
  await chat.answer(id, "decline");
  expect(await chat.reply("go")).toMatchObject({ status: "done" });
  const { events } = await chat.finish();
  expect(resultsIn(events)).toMatchObject([{ ok: true, summary: '{"action":"decline"}' }]);
});

test("a page is named with its host, and what is none is not shown", async () => {
  const bad = ["javascript:alert(1)", "file:///etc/passwd", "https://example.com@evil.example/"];
  const good = "https://login.exämple.com:8443/a?b=c";
  const script = [elicit(page(good)), ...bad.map((url) => elicit(page(url))), say("done")];
  await using chat = await open(script);
  const request = await chat.request();
  expect(request).toMatchObject({
    message: "Sign in",
    host: "login.xn--exmple-cua.com:8443",
    url: "https://login.xn--exmple-cua.com:8443/a?b=c",
  });
  expect(request.schema).toBeUndefined();
  expect(await chat.answer(request.id, "accept", {})).toMatchObject({ status: "failed" });
  expect(await chat.answer(request.id, "accept")).toMatchObject({ status: "done" });
  await chat.reply("go");
  const { events } = await chat.finish();
  const declined = bad.map(() => ({ summary: '{"action":"decline"}' }));
  expect(resultsIn(events)).toMatchObject([{ summary: '{"action":"accept"}' }, ...declined]);
  const told = events.flatMap((line) => (line.type === "notice" && line.code === "mcp" ? [line.message] : []));
  expect(told).toHaveLength(bad.length);
  for (const message of told) expect(message).toContain('the MCP server "s" to you was declined');
});

test.each([
  ["accept", "make the call again when the user says"],
  ["decline", "the user did not agree"],
])("a call that needs a page to be visited fails, and the model knows of a %s", async (decision, said) => {
  await using chat = await open([call("s__require", { ask: page("https://example.com/") }), say("done")]);
  const { id, host } = await chat.request();
  expect(host).toBe("example.com");
  await chat.answer(id, decision);
  await chat.reply("go");
  const { events } = await chat.finish();
  const [result] = resultsIn(events);
  expect(result?.ok).toBe(false);
  expect(result?.summary).toContain("Sign in first");
  expect(result?.summary).toContain(said);
});

test("an interrupt ends the wait for a page", async () => {
  await using chat = await open([call("s__require", { ask: page("https://example.com/") }), say("not reached")]);
  await chat.request();
  await chat.ask({ op: "interrupt", id: "i" });
  expect(await chat.reply("go")).toMatchObject({ status: "cancelled" });
  expect(decisionsIn((await chat.finish()).events)).toEqual(["cancel"]);
});

test("exec and agents ask nobody", async () => {
  await using place = makePlace();
  configure(place, { mcp: { servers: { s: serverOf({ tools }) } } });
  await using server = await startModelServer([elicit(form), elicit(page("https://example.com/")), say("done")]);
  const { events } = await exec(place, server, ["go"]);
  expect(resultsIn(events)).toMatchObject([{ summary: '{"action":"decline"}' }, { ok: true }]);
  expect(resultsIn(events)[1]?.summary).toContain("does not support URL-mode");

  const invoke = call("InvokeAgent", { agent: "task", prompt: "AGENT" });
  await using chat = await open([invoke, elicit(form), say("agent done"), say("done")]);
  expect(await chat.reply("go")).toMatchObject({ status: "done" });
  const told = (await chat.finish()).events;
  expect(told.filter(isRequest)).toEqual([]);
  expect(JSON.stringify(told.filter(({ type }) => type === "agent"))).toContain('{\\"action\\":\\"decline\\"}');
});
