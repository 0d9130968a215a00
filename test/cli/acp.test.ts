import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { CreateElicitationRequest, NewSessionRequest } from "@agentclientprotocol/sdk";
import { openAcp, startAcp } from "../support/acp.ts";
import { promptsOf } from "../support/chat.ts";
import { using } from "../support/koda.ts";
import { onceOffered, serverOf } from "../support/mcp.ts";
import { call, hang, say, status, think } from "../support/model-reply.ts";
import { type Script, startModelServer } from "../support/model-server.ts";
import { configure, makePlace, tree } from "../support/place.ts";

test("a client learns what koda can do", async () => {
  await using acp = await openAcp([]);
  expect(acp.initialized).toMatchObject({
    protocolVersion: 1,
    agentInfo: { name: "koda" },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true, embeddedContext: true },
      mcpCapabilities: { http: true },
      sessionCapabilities: { list: {}, resume: {}, close: {} },
    },
    authMethods: [],
  });
  expect(await acp.finish()).toBe(0);
  expect(await acp.stderr).toBe("");
});

test("a prompt streams thoughts, calls and text, and ends with its turn", async () => {
  await using acp = await openAcp([[think("hm"), call("Bash", { command: "echo hi" })], say("all ", "done")]);
  const { sessionId, modes } = await acp.begin();
  expect(modes).toMatchObject({ currentModeId: "auto" });
  expect(await acp.prompt(sessionId, "go")).toEqual({ stopReason: "end_turn" });
  expect(acp.text()).toBe("all done");
  const calls = acp.updates.filter(({ sessionUpdate }) => sessionUpdate.startsWith("tool_call"));
  expect(calls[0]).toMatchObject({ title: "Bash echo hi", kind: "execute", status: "in_progress" });
  expect(calls.at(-1)).toMatchObject({
    status: "completed",
    content: [{ content: { text: expect.stringContaining("hi") } }],
  });
  expect(acp.updates.map(({ sessionUpdate }) => sessionUpdate)).toContain("agent_thought_chunk");
  expect(acp.updates).toContainEqual(expect.objectContaining({ sessionUpdate: "usage_update" }));
  expect(await acp.finish()).toBe(0);
});

test("a call that needs approval asks the client, and runs once it is allowed", async () => {
  await using acp = await openAcp([call("Bash", { command: "touch a" }), say("done")], {
    args: ["--mode", "safe"],
    permission: async () => ({ outcome: { outcome: "selected", optionId: "once" } }),
  });
  const { sessionId } = await acp.begin();
  await acp.prompt(sessionId, "go");
  expect(acp.asked).toMatchObject([
    {
      sessionId,
      toolCall: { title: "Bash touch a", kind: "execute", status: "pending" },
      options: [
        { optionId: "once", kind: "allow_once" },
        { optionId: "session", kind: "allow_always" },
        { optionId: "prefix", kind: "allow_always" },
        { optionId: "deny", kind: "reject_once" },
      ],
    },
  ]);
  expect(existsSync(join(acp.place.project, "a"))).toBe(true);
});

test("a cancelled prompt ends as cancelled, with the question that was open, and the session goes on", async () => {
  let withdrawn = false;
  await using acp = await openAcp([call("Bash", { command: "touch a" }), say("again")], {
    args: ["--mode", "safe"],
    permission: (_, signal) => {
      const { promise, resolve } = Promise.withResolvers<{ outcome: { outcome: "cancelled" } }>();
      signal.addEventListener("abort", () => {
        withdrawn = true;
        resolve({ outcome: { outcome: "cancelled" } });
      });
      return promise;
    },
  });
  const { sessionId } = await acp.begin();
  const prompt = acp.prompt(sessionId, "go");
  await acp.until(() => acp.asked.length === 1);
  await acp.agent.notify("session/cancel", { sessionId });
  expect(await prompt).toEqual({ stopReason: "cancelled" });
  expect(withdrawn).toBe(true);
  expect(existsSync(join(acp.place.project, "a"))).toBe(false);
  expect(await acp.prompt(sessionId, "and now?")).toEqual({ stopReason: "end_turn" });
});

test("a cancellation that comes right behind its prompt ends it", async () => {
  await using acp = await openAcp([hang(), say("next")]);
  const { sessionId } = await acp.begin();
  const prompt = acp.prompt(sessionId, "go");
  await acp.agent.notify("session/cancel", { sessionId });
  expect(await prompt).toEqual({ stopReason: "cancelled" });
});

test("a permission that the client cannot ask for is a denial, and the model is told why", async () => {
  await using acp = await openAcp([call("Bash", { command: "touch a" }), say("then not")], {
    args: ["--mode", "safe"],
    permission: () => Promise.reject(new Error("no window")),
  });
  const { sessionId } = await acp.begin();
  await acp.prompt(sessionId, "go");
  expect(acp.updates.findLast(({ sessionUpdate }) => sessionUpdate === "tool_call_update")).toMatchObject({
    status: "failed",
    content: [{ content: { text: expect.stringContaining("the client could not ask the user") } }],
  });
});

test("a session is listed, closed, resumed without its history, and loaded with it", async () => {
  await using acp = await openAcp([[think("hm"), call("Bash", { command: "echo hi" })], say("first"), say("second")]);
  const { cwd, sessionId, resume, load } = await withEnded(acp);
  const { sessions } = await acp.agent.request("session/list", { cwd });
  expect(sessions).toMatchObject([{ sessionId, cwd, title: "go" }]);

  await resume();
  await acp.until(() => acp.updates.some(({ sessionUpdate }) => sessionUpdate === "available_commands_update"));
  expect(acp.text()).toBe("");
  await acp.prompt(sessionId, "on");
  expect(acp.text()).toBe("second");
  expect(promptsOf(acp.server.requests.at(-1))).toEqual(["go", "on"]);
  await acp.agent.request("session/close", { sessionId });

  acp.updates.length = 0;
  expect(await load()).toMatchObject({ modes: { currentModeId: "auto" } });
  const shown = acp.updates
    .map((update) => update.sessionUpdate)
    .filter((kind) => kind !== "available_commands_update");
  expect(shown).toEqual([
    "user_message_chunk",
    "agent_thought_chunk",
    "tool_call",
    "tool_call_update",
    "agent_message_chunk",
    "user_message_chunk",
    "agent_message_chunk",
  ]);
  expect(acp.text()).toBe("firstsecond");
});

async function withEnded(acp: Awaited<ReturnType<typeof openAcp>>) {
  const cwd = acp.place.project;
  const { sessionId } = await acp.begin();
  await acp.prompt(sessionId, "go");
  await acp.agent.request("session/close", { sessionId });
  acp.updates.length = 0;
  const request = { cwd, sessionId, mcpServers: [] };
  return {
    cwd,
    sessionId,
    resume: () => acp.agent.request("session/resume", request),
    load: () => acp.agent.request("session/load", request),
  };
}

test("a session goes on after kill -9", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("first"), hang(), say("third")]);
  const killed = await startAcp(place, using(server));
  const { sessionId } = await killed.begin();
  await killed.prompt(sessionId, "one");
  killed.prompt(sessionId, "two").catch(() => undefined);
  await server.nextRequest();
  await server.nextRequest();
  await killed[Symbol.asyncDispose]();

  await using acp = await startAcp(place, using(server));
  await acp.agent.request("session/load", { cwd: place.project, sessionId, mcpServers: [] });
  expect(acp.text()).toBe("first");
  await acp.prompt(sessionId, "three");
  expect(promptsOf(server.requests.at(-1))).toEqual(["one", "two", "three"]);
});

test("two sessions of one client work side by side, each in its directory", async () => {
  const script: Script = ({ lines }) =>
    lines.at(-1)?.role === "tool" ? say("done") : call("Bash", { command: "pwd > here" });
  await using acp = await openAcp(script);
  const other = join(acp.place.project, "other");
  mkdirSync(other);
  const [one, two] = [await acp.begin(), await acp.begin(other)];
  expect(one.sessionId).not.toBe(two.sessionId);
  await Promise.all([acp.prompt(one.sessionId, "go"), acp.prompt(two.sessionId, "go")]);
  expect(readFileSync(join(other, "here"), "utf8")).toBe(`${other}\n`);
  expect(readFileSync(join(acp.place.project, "here"), "utf8")).toBe(`${acp.place.project}\n`);
  expect(await acp.finish()).toBe(0);
});

test("mode, model and effort are set, and hold from the next prompt", async () => {
  await using acp = await openAcp([call("Write", { path: "a", content: "a" }), say("not"), say("other")]);
  const { sessionId, configOptions } = await acp.begin();
  expect(configOptions).toMatchObject([{ id: "mode" }, { id: "model" }, { id: "thought_level" }]);
  await acp.agent.request("session/set_mode", { sessionId, modeId: "plan" });
  await acp.prompt(sessionId, "go");
  expect(existsSync(join(acp.place.project, "a"))).toBe(false);
  const choose = (configId: string, value: string) =>
    acp.agent.request("session/set_config_option", { sessionId, configId, value });
  expect(await choose("model", "another")).toMatchObject({
    configOptions: [{ currentValue: "plan" }, { currentValue: expect.stringContaining("another") }, {}],
  });
  expect(await choose("thought_level", "high")).toMatchObject({ configOptions: [{}, {}, { currentValue: "high" }] });
  await acp.prompt(sessionId, "again");
  expect(acp.server.requests.at(-1)?.body).toMatchObject({ model: "another" });
});

test("a session that began in mode plan can write once the user has chosen another mode", async () => {
  const script: Script = ({ lines }) =>
    lines.at(-1)?.role === "tool"
      ? say("done")
      : [call("Write", { path: "a", content: "a" }), call("Bash", { command: "touch b" })];
  await using acp = await openAcp(script, { args: ["--mode", "plan"] });
  const { sessionId } = await acp.begin();
  const there = () => ["a", "b"].map((name) => existsSync(join(acp.place.project, name)));
  await acp.prompt(sessionId, "go");
  expect(there()).toEqual([false, false]);
  await acp.agent.request("session/set_mode", { sessionId, modeId: "auto" });
  await acp.prompt(sessionId, "go");
  expect(there()).toEqual([true, true]);
  await acp.agent.request("session/set_mode", { sessionId, modeId: "plan" });
  await acp.prompt(sessionId, "go");
  expect(acp.updates.findLast(({ sessionUpdate }) => sessionUpdate === "tool_call_update")).toMatchObject({
    status: "failed",
  });
});

test("edits are shown as changes of files, and a list of tasks as a plan", async () => {
  const items = [
    { text: "one", status: "done" },
    { text: "two", status: "in_progress" },
  ];
  await using place = makePlace({ "a.txt": "old line\n" });
  await using acp = await openAcp(
    [
      call("Read", { path: "a.txt", start_line: 1 }),
      call("Edit", { path: "a.txt", edits: [{ old: "old", new: "new" }] }),
      call("TodoWrite", { items }),
      call("Edit", { path: "a.txt", edits: [{ old: "missing", new: "x" }] }),
      call("TodoWrite", { items: [] }),
      say("done"),
    ],
    { place },
  );
  const { sessionId } = await acp.begin();
  await acp.prompt(sessionId, "go");
  const path = join(place.project, "a.txt");
  const calls = acp.updates.filter((update) => update.sessionUpdate === "tool_call");
  expect(calls[0]).toMatchObject({ kind: "read", locations: [{ path, line: 1 }] });
  expect(calls[1]).toMatchObject({
    kind: "edit",
    locations: [{ path }],
    content: [{ type: "diff", path, oldText: "old", newText: "new" }],
  });
  const ended = acp.updates.filter((update) => update.sessionUpdate === "tool_call_update");
  expect(ended.find(({ toolCallId }) => toolCallId === calls[1]?.toolCallId)).toMatchObject({
    status: "completed",
    content: [{ type: "diff" }],
  });
  expect(ended.find(({ toolCallId }) => toolCallId === calls[3]?.toolCallId)).toMatchObject({
    status: "failed",
    content: [{ type: "content" }],
  });
  expect(acp.updates).toContainEqual({
    sessionUpdate: "plan",
    entries: [
      { content: "one", priority: "medium", status: "completed" },
      { content: "two", priority: "medium", status: "in_progress" },
    ],
  });
});

test("the model's question is a form, where the client has forms", async () => {
  const script = [call("AskUser", { question: "Which one?", options: ["red", "blue"] }), say("done")];
  const asked: CreateElicitationRequest[] = [];
  await using acp = await openAcp(script, {
    capabilities: { elicitation: { form: {} } },
    answer: (request) => {
      asked.push(request);
      return { action: "accept", content: { answer: "blue" } };
    },
  });
  const { sessionId } = await acp.begin();
  await acp.prompt(sessionId, "go");
  expect(asked).toMatchObject([{ mode: "form", message: "Which one?", sessionId }]);
  expect(acp.updates.findLast(({ sessionUpdate }) => sessionUpdate === "tool_call_update")).toMatchObject({
    content: [{ content: { text: "blue" } }],
  });

  await using plain = await openAcp([say("done")]);
  await plain.prompt((await plain.begin()).sessionId, "go");
  expect(plain.server.requests[0]?.raw).not.toContain('"AskUser"');
});

test("so is that of an MCP server, and a page is declined", async () => {
  const fields = { name: { type: "string", minLength: 2 } };
  const form = { message: "Who?", requestedSchema: { type: "object", properties: fields, required: ["name"] } };
  const page = { mode: "url", message: "Sign in", elicitationId: "e", url: "https://example.com/" };
  const elicit = (ask: unknown) => call("s__elicit", { ask });
  const asked: CreateElicitationRequest[] = [];
  const place = makePlace();
  const tools = [{ name: "elicit", does: "elicit", annotations: { readOnlyHint: true } }] as const;
  configure(place, { mcp: { servers: { s: serverOf({ tools }) } } });
  await using acp = await openAcp([elicit(form), elicit(form), elicit(page), say("done")], {
    place,
    capabilities: { elicitation: { form: {} } },
    answer: (request) => ({ action: "accept", content: { name: asked.push(request) === 1 ? "Ada" : "" } }),
  });
  const { sessionId } = await acp.begin();
  await acp.prompt(sessionId, "go");
  expect(asked).toMatchObject([{ message: "s: Who?", requestedSchema: { properties: fields } }, {}]);
  const results = acp.server.requests.at(-1)?.lines.filter(({ role }) => role === "tool");
  expect(results?.map(({ text }) => text)).toEqual([
    '{"action":"accept","content":{"name":"Ada"}}',
    '{"action":"cancel"}',
    '{"action":"decline"}',
  ]);
});

test("files, links and images of a prompt reach the model", async () => {
  await using acp = await openAcp([say("seen")]);
  const { sessionId } = await acp.begin();
  await acp.agent.request("session/prompt", {
    sessionId,
    prompt: [
      { type: "text", text: "compare " },
      { type: "resource_link", name: "a.ts", uri: "file:///p/a.ts" },
      { type: "text", text: " with" },
      { type: "resource", resource: { uri: "file:///p/b.ts", text: "const b = 1" } },
    ],
  });
  const [prompt] = promptsOf(acp.server.requests[0]);
  expect(prompt).toContain("compare [a.ts](file:///p/a.ts) with\n<resource");
  expect(prompt).toContain("const b = 1");
  const audio = { type: "audio" as const, data: "", mimeType: "audio/wav" };
  expect(acp.agent.request("session/prompt", { sessionId, prompt: [audio] })).rejects.toMatchObject({ code: -32602 });
});

test("the servers that a client brings are the session's", async () => {
  const script = onceOffered("client__greet", [], [call("client__greet", {}), say("done")]);
  await using acp = await openAcp(script, { args: ["--allow-read", tree] });
  const { command, args } = serverOf({ tools: [{ name: "greet", description: "greets", does: "echo" }] }) as Program;
  const server = { name: "client", command, args, env: [{ name: "GREETING", value: "hello" }] };
  const request: NewSessionRequest = { cwd: acp.place.project, mcpServers: [server] };
  const { sessionId } = await acp.agent.request("session/new", request);
  await acp.prompt(sessionId, "go");
  const greeting = acp.updates.find(
    (update) => update.sessionUpdate === "tool_call" && update.title === "client__greet",
  );
  expect(greeting).toMatchObject({ kind: "other" });
});

type Program = { command: string; args: string[] };

test("what cannot be done is said with the reason", async () => {
  await using acp = await openAcp([]);
  const { agent, place } = acp;
  const cwd = place.project;
  const { sessionId } = await acp.begin();
  const faults = [
    [agent.request("session/new", { cwd: "relative", mcpServers: [] }), -32602, 'Cannot work in "relative"'],
    [agent.request("session/new", { cwd: `${cwd}/none`, mcpServers: [] }), -32602, "none"],
    [agent.request("session/load", { cwd, sessionId: "none", mcpServers: [] }), -32002, 'No session "none"'],
    [agent.request("session/resume", { cwd, sessionId: "none" }), -32002, 'No session "none"'],
    [agent.request("session/resume", { cwd, sessionId }), -32603, "is open already"],
    [acp.prompt("none", "go"), -32002, 'Session "none" is not open'],
    [agent.request("session/set_mode", { sessionId, modeId: "yolo" }), -32602, 'Unknown mode "yolo"'],
    [
      agent.request("session/set_config_option", { sessionId, configId: "x", value: "y" }),
      -32602,
      'Unknown option "x"',
    ],
    [agent.request("session/list", { cursor: "x" }), -32602, 'Unknown cursor "x"'],
  ] as const;
  for (const [answer, code, words] of faults)
    expect(await answer.catch((error: unknown) => error)).toMatchObject({
      code,
      message: expect.stringContaining(words),
    });
  expect(await acp.finish()).toBe(0);
});

test("without a key the client is told to authenticate", async () => {
  await using place = makePlace();
  await using acp = await startAcp(place, ["-m", "anthropic/claude-sonnet-4-5"]);
  expect(await acp.begin().catch((error: unknown) => error)).toMatchObject({
    code: -32000,
    message: expect.stringContaining("ANTHROPIC_API_KEY"),
  });
});

test("a failure of the model is an error with its code, and the session goes on", async () => {
  await using acp = await openAcp([status(400, { error: { message: "no such thing" } }), say("better")]);
  const { sessionId } = await acp.begin();
  expect(await acp.prompt(sessionId, "go").catch((error: unknown) => error)).toMatchObject({
    code: -32603,
    message: expect.stringContaining("no such thing"),
    data: { code: "request" },
  });
  expect(await acp.prompt(sessionId, "again")).toEqual({ stopReason: "end_turn" });
});

test("the limit of requests ends a turn by the protocol's word for it", async () => {
  const script = () => call("Bash", { command: "true" });
  await using acp = await openAcp(script, { args: ["--max-turns", "2"] });
  const { sessionId } = await acp.begin();
  expect(await acp.prompt(sessionId, "go")).toEqual({ stopReason: "max_turn_requests" });
});

test("a client that hangs up leaves nothing behind", async () => {
  await using acp = await openAcp([call("Bash", { command: "echo $$ > pid; sleep 1000" })]);
  const { sessionId } = await acp.begin();
  acp.prompt(sessionId, "go").catch(() => undefined);
  await acp.until(() => acp.updates.some(({ sessionUpdate }) => sessionUpdate === "tool_call"));
  expect(await acp.finish()).toBe(0);
  expect(await acp.stderr).toBe("");
});

test("a signal ends all sessions, and is the exit code", async () => {
  await using acp = await openAcp([hang()]);
  const { sessionId } = await acp.begin();
  acp.prompt(sessionId, "go").catch(() => undefined);
  await acp.server.nextRequest();
  acp.child.kill("SIGTERM");
  expect(await acp.child.exited).toBe(143);
});
