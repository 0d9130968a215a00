import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { exec, type Line, using } from "../support/koda.ts";
import { onceOffered, serverOf } from "../support/mcp.ts";
import { call, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { configure, makePlace } from "../support/place.ts";
import { runIn } from "../support/run.ts";

const results = (events: readonly Line[]) => events.filter((event) => event.type === "tool.end");
const startOf = (events: readonly Line[]) => {
  const [first] = events;
  if (first?.type !== "session.start") throw new Error(`The first event is ${first?.type}`);
  return first;
};

test("a server's tool is offered and called", async () => {
  await using place = makePlace();
  const echo = {
    name: "echo",
    description: "Says it again.",
    does: "echo",
    annotations: { readOnlyHint: true },
  } as const;
  configure(place, { mcp: { servers: { files: serverOf({ tools: [echo] }) } } });
  await using model = await startModelServer([call("files__echo", { a: 1 }), say("Done.")]);
  const { events, end } = await exec(place, model, ["go"]);
  expect(end).toMatchObject({ status: "done", tools: { ok: 1 } });
  expect(startOf(events).mcp).toEqual([{ name: "files", status: "connected" }]);
  expect(startOf(events).tools).toContain("files__echo");
  expect(results(events)).toMatchObject([{ tool: "files__echo", ok: true, summary: '{"a":1}' }]);
  expect(model.requests[0]?.raw).toContain("Says it again.");
});

test("what a result holds reaches the model", async () => {
  await using place = makePlace();
  const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const rows = [
    ["structured", { content: [{ type: "text", text: "as text" }], structuredContent: { n: 1 } }, '{"n":1}', true],
    ["nothing", { content: [{ type: "text", text: "as text" }], structuredContent: null }, "as text", true],
    ["failing", { content: [{ type: "text", text: "no such file" }], isError: true }, "no such file", false],
    ["empty", { content: [] }, "(no output)", true],
    ["picture", { content: [{ type: "image", data: png, mimeType: "image/png" }] }, "[image/png image]", true],
    [
      "many",
      { content: Array.from({ length: 12 }, () => ({ type: "image", data: png, mimeType: "image/png" })) },
      "[2 more images",
      true,
    ],
    ["odd", { content: [{ type: "image", data: "aGk=", mimeType: "image/x" }] }, "not shown]", true],
    ["linked", { content: [{ type: "resource_link", uri: "a://b", name: "b" }] }, '[resource "b": a://b]', true],
  ] as const;
  const tools = rows.map(([name, result]) => ({ name, result, annotations: { readOnlyHint: true } }));
  configure(place, { mcp: { servers: { s: serverOf({ tools }) } } });
  await using model = await startModelServer([rows.map(([name]) => call(`s__${name}`)), say("Done.")]);
  const { events } = await exec(place, model, ["go"]);
  for (const [name, , text, ok] of rows) {
    const found = results(events).find(({ tool }) => tool === `s__${name}`);
    expect(found, name).toMatchObject({ ok, summary: expect.stringContaining(text) });
  }
});

test("tools on several pages are all offered, under names that providers take", async () => {
  await using place = makePlace();
  const tools = ["plain", "with.dots", "ünï", "x".repeat(80), `${"x".repeat(79)}y`, ...Array(40).keys()].map(
    (name) => ({
      name: String(name),
    }),
  );
  configure(place, { mcp: { servers: { s: serverOf({ tools, page: 7 }) } } });
  await using model = await startModelServer([say("Done.")]);
  const { events } = await exec(place, model, ["go"]);
  const names = startOf(events).tools.filter((name) => name.startsWith("s__"));
  expect(names).toHaveLength(tools.length);
  expect(new Set(names).size).toBe(tools.length);
  for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  expect(names).toContain("s__plain");
});

test("a server that takes longer than a second is connecting, and its tools come with the next request", async () => {
  await using place = makePlace();
  const optional = { required: false };
  const echo = { name: "echo", does: "echo" } as const;
  const slow = serverOf({ late: 1_200, tools: [echo], instructions: "Echo twice." }, optional);
  configure(place, { mcp: { servers: { slow, hanging: serverOf({ silent: true }, optional) } } });
  const uses = [call("slow__echo", { b: 2 }), say("Done.")];
  await using model = await startModelServer(onceOffered("slow__echo", [], uses));
  const { events, end, stderr } = await exec(place, model, ["go"]);
  expect(startOf(events).mcp.map(({ status }) => status)).toEqual(["connecting", "connecting"]);
  expect(startOf(events).tools).not.toContain("slow__echo");
  expect(model.requests[0]?.raw).not.toContain("slow__echo");
  expect(model.requests.at(-1)?.raw).toContain("Echo twice.");
  expect(results(events).at(-1)).toMatchObject({ tool: "slow__echo", ok: true });
  const notice = events.find((event) => event.type === "notice" && event.code === "tools");
  expect(notice).toMatchObject({ message: "New tools can be used: slow__echo" });
  expect(end).toMatchObject({ status: "done", tools: { failed: 0 }, mcp: [{ name: "hanging", status: "connecting" }] });
  expect(stderr).toContain("hanging");
});

test("a required server that fails ends the start", async () => {
  await using place = makePlace();
  const broken = (code: number) => serverOf({ exits: code, noise: "no license\n" }, { required: true });
  configure(place, { mcp: { servers: { b: broken(2), a: broken(1) } } });
  await using model = await startModelServer([say("Done.")]);
  const { end, events } = await exec(place, model, ["go"]);
  expect(events.map(({ type }) => type)).toEqual(["end"]);
  const faults = "a: exited with 1: no license; b: exited with 2: no license";
  const message = `required MCP servers failed to initialize: ${faults} (koda mcp check tests them)`;
  expect(end).toMatchObject({ exit: 2, session: null, error: { message } });
  expect(model.requests).toEqual([]);
  configure(place, { mcp: { servers: { b: broken(2) } } });
  const one = await exec(place, model, ["go"]);
  expect(one.stderr).toContain("b: exited with 2: no license (koda mcp check b tests it by itself)");
});

test("a server that changes its tools changes them with the next request", async () => {
  await using place = makePlace();
  const plan = {
    tools: [{ name: "grow", does: "grow" }, { name: "old" }],
    grown: [
      { name: "grow", does: "grow" },
      { name: "new", does: "echo" },
    ],
  } as const;
  configure(place, { mcp: { servers: { s: serverOf(plan) } } });
  const uses = [call("s__new", { c: 3 }), call("s__old")];
  await using model = await startModelServer(onceOffered("s__new", [call("s__grow")], [uses, say("Done.")]));
  const { events } = await exec(place, model, ["go"]);
  const [fresh, gone] = results(events).slice(-2);
  expect(fresh).toMatchObject({ tool: "s__new", ok: true });
  expect(gone).toMatchObject({ tool: "s__old", ok: false, summary: expect.stringContaining('Unknown tool "s__old"') });
});

test("tools that change while they are listed are listed again", async () => {
  await using place = makePlace();
  const overtake = { name: "overtake", does: "overtake" } as const;
  const plan = { tools: [overtake], grown: [overtake, { name: "new", does: "echo" }] } as const;
  configure(place, { mcp: { servers: { s: serverOf(plan) } } });
  const uses = [call("s__new", { d: 4 }), say("Done.")];
  await using model = await startModelServer(onceOffered("s__new", [call("s__overtake")], uses));
  const { events } = await exec(place, model, ["go"]);
  expect(results(events).at(-1)).toMatchObject({ tool: "s__new", ok: true, summary: '{"d":4}' });
});

test("a server that misbehaves costs its call, and the run goes on", async () => {
  await using place = makePlace();
  const tools = (["die", "hang", "flood", "huge", "elicit", "roots", "progress"] as const).map((does) => ({
    name: does,
    does,
    annotations: { readOnlyHint: true },
  }));
  const plan = { tools, noise: "Listening on nothing\n" };
  const server = serverOf(plan, { call_timeout: "400ms" });
  configure(place, { mcp: { servers: { s: server, t: server, u: serverOf(plan), v: serverOf(plan) } } });
  await using model = await startModelServer([
    call("s__hang"),
    call("t__die"),
    call("u__flood"),
    call("v__huge"),
    [call("u__elicit"), call("u__roots"), call("u__progress")],
    say("Done."),
  ]);
  const { events, end } = await exec(place, model, ["go"]);
  expect(end).toMatchObject({ status: "done", tools: { ok: 4, failed: 3 } });
  const texts = Object.fromEntries(results(events).map(({ tool, summary }) => [tool, summary]));
  expect(texts.s__hang).toContain("timed out");
  expect(texts.t__die).toMatch(/exited with 3: .*out of cheese/);
  expect(texts.u__flood).toBe("flooded");
  expect(texts.v__huge).toContain("it sent a message of more than 10 MiB");
  expect(texts.u__elicit).toBe('{"action":"decline"}');
  expect(texts.u__roots).toContain(`file://${place.project}`);
  const output = events.filter((event) => event.type === "tool.output").map(({ text }) => text);
  expect(output.join("")).toContain("1/2 step 1\n2/2 step 2\n");
});

test("a tool with a schema that a provider would refuse is named and left out", async () => {
  await using place = makePlace();
  const loop = { type: "object", properties: { a: { $ref: "#/$defs/b" } }, $defs: { b: { $ref: "#/$defs/b" } } };
  const tools = [
    { name: "good" },
    { name: "loop", inputSchema: loop },
    { name: "dangling", inputSchema: { type: "object", properties: { a: { $ref: "#/nowhere" } } } },
    { name: "good" },
  ];
  configure(place, { mcp: { servers: { s: serverOf({ tools }) } } });
  await using model = await startModelServer([say("Done.")]);
  const { events, end } = await exec(place, model, ["go"]);
  expect(end.status).toBe("done");
  expect(startOf(events).tools.filter((name) => name.startsWith("s__"))).toEqual(["s__good"]);
  const notice = events.find((event) => event.type === "notice" && event.code === "mcp");
  expect(notice).toMatchObject({ message: expect.stringMatching(/"loop": .*"dangling": .*"good": it has the name/) });
});

test("what a server says of its tools may be loose, and of their results untrue", async () => {
  await using place = makePlace();
  const content = [{ type: "text", text: "as text" }];
  const outputSchema = {
    type: "object",
    properties: { n: { $ref: "#/nowhere", pattern: "^(a+)+$" } },
    required: ["n"],
  };
  const tools = [
    { name: "bare", title: null, description: null, annotations: null, inputSchema: {}, result: { content } },
    { name: "hints", annotations: { title: null, readOnlyHint: true }, inputSchema: null, result: { content } },
    { name: "other", outputSchema, result: { content, structuredContent: { n: "a".repeat(60) } } },
    { name: "nothing", outputSchema, result: { content, structuredContent: null } },
    { name: "list", outputSchema: { type: "array" }, result: { content } },
  ];
  configure(place, { mcp: { servers: { s: serverOf({ tools }) } } });
  await using model = await startModelServer([tools.map(({ name }) => call(`s__${name}`)), say("Done.")]);
  const { events } = await exec(place, model, ["go"]);
  const texts = Object.fromEntries(results(events).map(({ tool, summary }) => [tool, summary]));
  const structured = `{"n":"${"a".repeat(60)}"}`;
  expect(texts).toEqual({
    s__bare: "as text",
    s__hints: "as text",
    s__other: structured,
    s__nothing: "as text",
    s__list: "as text",
  });
});

test("the effect that a server declares is judged by the mode", async () => {
  const tools = [
    { name: "look", annotations: { readOnlyHint: true } },
    { name: "post" },
    { name: "drop", annotations: { destructiveHint: true } },
    { name: "both", annotations: { readOnlyHint: true, destructiveHint: true } },
  ];
  const rows = [
    { mode: "plan", more: {}, ok: ["s__look"] },
    { mode: "safe", more: {}, ok: ["s__look"] },
    { mode: "auto", more: {}, ok: ["s__look", "s__post"] },
    { mode: "auto", more: { enabled_tools: ["look", "drop"] }, ok: ["s__look", "s__drop"] },
  ];
  for (const { mode, more, ok } of rows) {
    await using place = makePlace();
    configure(place, { mcp: { servers: { s: serverOf({ tools }, more) } } });
    const calls = tools.map(({ name }) => call(`s__${name}`));
    await using model = await startModelServer([calls, say("Done.")]);
    const { events } = await exec(place, model, ["--mode", mode, "go"]);
    const done = results(events).flatMap((event) => (event.ok ? [event.tool] : []));
    expect(done, `${mode} ${JSON.stringify(more)}`).toEqual(ok);
  }
});

test("a server runs in the sandbox: it reads no secret, writes nothing outside, and in plan mode nothing", async () => {
  const tools = [{ name: "run", does: "run", annotations: { readOnlyHint: true } }] as const;
  for (const mode of ["auto", "plan"]) {
    await using place = makePlace();
    configure(place, { mcp: { servers: { s: serverOf({ tools }, { env: { OWN: "${GIVEN:-none} ${HOME}" } }) } } });
    const command = "env; echo x > inside; echo x > ../outside; cat ~/.ssh/id";
    await using model = await startModelServer([call("s__run", { command }), say("Done.")]);
    mkdirSync(join(place.home, ".ssh"));
    writeFileSync(join(place.home, ".ssh/id"), "PRIVATE");
    const { events } = await exec(place, model, ["--mode", mode, "go"], { env: { OPENAI_API_KEY: "sk-secret-key-1" } });
    const [result] = results(events);
    expect(result?.summary).toContain(`OWN=none ${place.home}`);
    expect(result?.summary).not.toContain("PRIVATE");
    expect(result?.summary).not.toContain("sk-secret-key-1");
    expect(existsSync(join(place.project, "inside"))).toBe(mode === "auto");
    expect(existsSync(join(place.project, "../outside"))).toBe(false);
  }
});

test("resources and prompts are listed and read", async () => {
  await using place = makePlace();
  const server = serverOf({ resources: { "note://a": "Remember the milk." }, prompts: { greet: "Hello" } });
  configure(place, { mcp: { servers: { s: server } } });
  await using model = await startModelServer([
    call("McpList"),
    [
      call("McpRead", { server: "s", uri: "note://a" }),
      call("McpRead", { server: "s", prompt: "greet", arguments: { who: "you" } }),
    ],
    say("Done."),
  ]);
  const { events } = await exec(place, model, ["go"]);
  expect(new Set(results(events).map(({ summary }) => summary))).toEqual(
    new Set(["s:\nresource note://a: note://a\nprompt greet(who)", "Remember the milk.", "Hello you"]),
  );
});

test("flags choose among the tools of servers, and a name that none has is an error", async () => {
  await using place = makePlace();
  configure(place, { mcp: { servers: { s: serverOf({ tools: [{ name: "a" }, { name: "b" }] }) } } });
  const offered = async (...flags: string[]) => {
    await using model = await startModelServer([say("Done.")]);
    const { events, end } = await exec(place, model, [...flags, "go"]);
    return end.error?.message ?? startOf(events).tools.filter((name) => name.startsWith("s__"));
  };
  expect(await offered()).toEqual(["s__a", "s__b"]);
  expect(await offered("--deny-tool", "s__a")).toEqual(["s__b"]);
  expect(await offered("--deny-tool", "s__*")).toEqual([]);
  expect(await offered("--allow-tool", "s__*", "--deny-tool", "s__b")).toEqual(["s__a"]);
  expect(await offered("--allow-tool", "Read")).toEqual([]);
  expect(await offered("--deny-tool", "s__c")).toContain('--deny-tool: unknown tool "s__c"');
  expect(await offered("--deny-tool", "x__c")).toContain('--deny-tool: no MCP server has the tool "x__c"');
});

test("not one module for MCP is loaded without a server", async () => {
  await using place = makePlace();
  const modules = join(place.home, "modules");
  const load = async () => {
    await using model = await startModelServer([say("Done.")]);
    const argv = ["--preload", resolve("test/support/modules-program.ts"), resolve("cmd/main.ts"), "exec"];
    const ran = await runIn(place, [process.execPath, ...argv, ...using(model), "go"], { env: { MODULES: modules } });
    expect(ran).toMatchObject({ exit: 0, stdout: "Done.\n" });
    const paths = readFileSync(modules, "utf8").split("\n");
    return paths.filter((path) => /\/lib\/mcp\/|@modelcontextprotocol|cfworker/.test(path)).length;
  };
  expect(await load()).toBe(0);
  configure(place, { mcp: { servers: { s: serverOf({}) } } });
  expect(await load()).toBeGreaterThan(10);
});

test("with expose list two tools stand for many, and what they call is judged as itself", async () => {
  await using place = makePlace();
  const tools = [
    { name: "echo", description: "Says it again.", does: "echo", inputSchema: { type: "object", required: ["a"] } },
    { name: "drop", annotations: { destructiveHint: true } },
    ...Array.from({ length: 90 }, (_, n) => ({ name: `t${n}`, description: `Does ${n}.` })),
  ] as const;
  configure(place, { mcp: { expose: "list", servers: { s: serverOf({ tools }) } } });
  await using model = await startModelServer([
    [call("McpTools"), call("McpTools", { tool: "s__echo" })],
    call("McpCall", { tool: "s__echo", arguments: { a: 1 } }),
    call("McpCall", { tool: "s__echo", arguments: {} }),
    call("McpCall", { tool: "s__drop" }),
    call("McpCall", { tool: "s__echp" }),
    call("McpCall", { tool: "s__t1" }),
    say("Done."),
  ]);
  const { events } = await exec(place, model, ["--deny-tool", "s__t1", "go"]);
  const mcp = startOf(events).tools.filter((name) => name.startsWith("Mcp") || name.includes("__"));
  expect(mcp).toEqual(["McpTools", "McpCall"]);
  const names = results(events).map(({ tool }) => tool);
  expect(names.slice(2)).toEqual(["s__echo", "McpCall", "s__drop", "McpCall", "McpCall"]);
  const texts = results(events).map(({ summary }) => summary);
  expect(texts[0]).toStartWith("s__echo: Says it again.\ns__drop: \ns__t0: Does 0.\ns__t2");
  expect(texts[1]).toContain('"required":["a"]');
  expect(texts[2]).toBe('{"a":1}');
  expect(texts[3]).toContain("The arguments of s__echo do not match its schema");
  expect(texts[4]).toStartWith("Denied: destructive: the MCP server");
  expect(texts[5]).toContain('No MCP server has the tool "s__echp" (did you mean s__echo?)');
  expect(texts[6]).toContain('No MCP server has the tool "s__t1"');
});

test("the tool that passes calls on can be denied by its own name", async () => {
  await using place = makePlace();
  const servers = { s: serverOf({ tools: [{ name: "echo", does: "echo" }] }) };
  configure(place, { mcp: { expose: "list", servers } });
  await using model = await startModelServer([call("McpCall", { tool: "s__echo" }), say("Done.")]);
  const { events } = await exec(place, model, ["--deny-tool", "McpCall", "go"]);
  expect(startOf(events).tools).not.toContain("McpCall");
  expect(results(events)).toMatchObject([{ ok: false, summary: expect.stringContaining('Unknown tool "McpCall"') }]);
});

test("a tool whose name another server has taken is named and left out", async () => {
  await using place = makePlace();
  const servers = { a: serverOf({ tools: [{ name: "_x" }] }), a_: serverOf({ tools: [{ name: "x" }, { name: "y" }] }) };
  configure(place, { mcp: { servers } });
  await using model = await startModelServer([say("Done.")]);
  const { events, end } = await exec(place, model, ["go"]);
  expect(end.status).toBe("done");
  expect(startOf(events).tools.filter((name) => name.startsWith("a_"))).toEqual(["a___x", "a___y"]);
  const notice = events.find((event) => event.type === "notice" && event.code === "mcp");
  expect(notice).toMatchObject({
    message: 'Some tools of the MCP server "a_" are not offered: "x": it has the name of another',
  });
});
