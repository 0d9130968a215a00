import { expect, test } from "bun:test";
import { join } from "node:path";
import { exec, type Line } from "../support/koda.ts";
import { serverOf } from "../support/mcp.ts";
import { call, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { configure, makePlace, tree } from "../support/place.ts";

const startOf = (events: readonly Line[]) => {
  const [first] = events;
  if (first?.type !== "session.start") throw new Error(`The first event is ${first?.type}`);
  return first;
};
const tools = [{ name: "echo", does: "echo", annotations: { readOnlyHint: true } }] as const;
const file = (name: string, more = {}) => JSON.stringify({ mcpServers: { [name]: serverOf({ tools }, more) } });

test("a project's .mcp.json starts nothing without --trust-project, and its servers with it", async () => {
  await using place = makePlace({ ".mcp.json": file("files", { autoApprove: ["echo"] }) });
  await using untrusting = await startModelServer([say("Done.")]);
  const without = await exec(place, untrusting, ["go"]);
  expect(startOf(without.events)).toMatchObject({ mcp: [], skipped: [".mcp.json: files"] });
  expect(without.stderr).toContain("Ignored the MCP servers in .mcp.json, which need --trust-project: files");

  await using model = await startModelServer([call("files__echo", { a: 1 }), say("Done.")]);
  const { events, end, stderr } = await exec(place, model, ["--trust-project", "--allow-read", tree, "go"]);
  expect(startOf(events)).toMatchObject({
    mcp: [{ name: "files", status: "connected" }],
    skipped: [".mcp.json: mcpServers.files.autoApprove"],
  });
  expect(stderr).toContain("Ignored the unknown key mcpServers.files.autoApprove in .mcp.json");
  expect(end).toMatchObject({ status: "done", tools: { ok: 1 } });
});

test("--mcp-config adds servers, with --bare too, and is kept on the line that continues the session", async () => {
  await using place = makePlace({ "a.json": file("a"), "b.json": file("b"), ".mcp.json": file("c") });
  configure(place, { mcp: { servers: { d: serverOf({ tools }) } } });
  await using model = await startModelServer([say("Done."), say("Done.")]);
  const flags = ["--mcp-config", "a.json", "--mcp-config=b.json"];
  const names = (events: readonly Line[]) => startOf(events).mcp.map(({ name }) => name);
  const first = await exec(place, model, [...flags, "--bare", "--allow-read", tree, "go"]);
  expect(names(first.events)).toEqual(["a", "b"]);
  const kept = ["a.json", "b.json"].map((name) => `--mcp-config ${join(place.project, name)}`).join(" ");
  expect(first.end.resume).toContain(kept);
  const second = await exec(place, model, [...flags, "go"]);
  expect(names(second.events)).toEqual(["d", "a", "b"]);
});

test("programs that fetch a server have a cache that they can write to", async () => {
  const run = [{ name: "run", does: "run", annotations: { readOnlyHint: true } }] as const;
  const command = 'for cache in "$npm_config_cache" "$UV_CACHE_DIR"; do mkdir -p "$cache" && echo made "$cache"; done';
  for (const mode of ["auto", "plan"]) {
    await using place = makePlace();
    configure(place, { mcp: { servers: { s: serverOf({ tools: run }, { env: { UV_CACHE_DIR: "own" } }) } } });
    await using model = await startModelServer([call("s__run", { command }), say("Done.")]);
    const { events } = await exec(place, model, ["--mode", mode, "go"]);
    const [result] = events.filter((event) => event.type === "tool.end");
    expect(result?.summary, mode).toContain("made /tmp/npm-cache");
    if (mode === "auto") expect(result?.summary).toContain("made own");
  }
});

test("a key that the server's transport does not have is an error in the configuration, and named in .mcp.json", async () => {
  const rows = [
    [{ url: "http://127.0.0.1:9/mcp", args: ["-v"] }, "args", "url"],
    [{ command: "true", headers: { "X-Team": "platform" } }, "headers", "command"],
  ] as const;
  for (const [entry, key, beside] of rows) {
    await using place = makePlace({ ".mcp.json": JSON.stringify({ mcpServers: { shared: entry } }) });
    configure(place, { mcp: { servers: { own: entry } } });
    await using model = await startModelServer([say("Done.")]);
    const { end } = await exec(place, model, ["go"]);
    const problem = `Cannot use "mcp.servers.own": unknown key "${key}" in "mcp.servers.own", which has "${beside}"`;
    expect(end).toMatchObject({ exit: 2, error: { code: "config", message: expect.stringContaining(problem) } });
    configure(place, {});
    const { stderr } = await exec(place, model, ["--trust-project", "go"]);
    expect(stderr).toContain(`Ignored the unknown key mcpServers.shared.${key} in .mcp.json`);
  }
});

test("a mistake in a file of servers ends the start with its name and the key", async () => {
  await using place = makePlace({ "a.json": '{"mcpServers": {"a": {"command": 1}}}' });
  await using model = await startModelServer([]);
  const { end } = await exec(place, model, ["--mcp-config", "a.json", "go"]);
  const message = `Cannot read config "${join(place.project, "a.json")}": "mcpServers.a.command" is 1, expected a non-empty string`;
  expect(end).toMatchObject({ exit: 2, error: { code: "config", message } });
});
