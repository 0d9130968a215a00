import { expect, test } from "bun:test";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeSkipped } from "../../lib/config/describe.ts";
import { loadConfig } from "../../lib/config/load.ts";
import { failureOf } from "../support/failure.ts";
import { configure, makePlace, type Place } from "../support/place.ts";

type Request = Partial<Parameters<typeof loadConfig>[0]>;

function load(place: Place, request: Request = {}) {
  const standing = { env: {}, home: place.home, root: place.project, bare: false, sets: [], overrides: {} };
  return loadConfig({ ...standing, isTrusted: true, ...request });
}

const asFile = (mcpServers: unknown, more = {}) => JSON.stringify({ mcpServers, ...more });

test("the servers of .mcp.json are read when the project is trusted, and named when it is not", async () => {
  const servers = {
    files: { type: "stdio", command: "npx", args: ["-y", "server"], env: { TOKEN: "${FILES}" }, required: true },
    web: { type: "http", url: "https://mcp.example.com/mcp", headers: { Authorization: "Bearer ${WEB}" } },
    old: { command: "x", disabled: true },
  };
  await using place = makePlace({ ".mcp.json": asFile(servers) });
  const { config, origins, project } = await load(place);
  expect(config.mcp.servers.get("files")).toMatchObject({
    isProjects: true,
    required: true,
    transport: { kind: "stdio", command: "npx", args: ["-y", "server"], env: new Map([["TOKEN", "${FILES}"]]) },
  });
  expect(config.mcp.servers.get("web")?.transport).toMatchObject({ kind: "http", url: "https://mcp.example.com/mcp" });
  expect(config.mcp.servers.get("old")?.enabled).toBe(false);
  expect(origins.get("mcp.servers.files.command")).toBe("project .mcp.json");
  expect(project.skipped).toEqual([]);

  const untrusted = await load(place, { isTrusted: false });
  expect(untrusted.config.mcp.servers.size).toBe(0);
  expect(untrusted.project.skipped).toEqual([".mcp.json: files, web, old"]);
  expect(untrusted.project.skipped.map(describeSkipped)).toEqual([
    "Ignored the MCP servers in .mcp.json, which need --trust-project: files, web, old",
  ]);
});

test("what koda does not know in such a file is named, and does not stop it", async () => {
  const servers = {
    a: {
      url: "https://example.com/mcp",
      autoApprove: ["all"],
      timeout: 5,
      description: "",
      alwaysAllow: [],
      headers_command: ["y"],
    },
    b: { type: "sse", url: "https://example.com/sse" },
  };
  await using place = makePlace({ ".mcp.json": asFile(servers, { inputs: [] }) });
  const { config, project } = await load(place);
  expect([...config.mcp.servers.keys()]).toEqual(["a"]);
  expect(project.skipped).toEqual([
    '.mcp.json: "inputs"',
    ...["a.autoApprove", "a.timeout", "a.description", "a.alwaysAllow", "b.type"].map(
      (key) => `.mcp.json: mcpServers.${key}`,
    ),
    ".mcp.json: mcpServers.a.headers_command",
  ]);
  expect(project.skipped.map(describeSkipped)).toEqual([
    'Ignored the unknown key "inputs" in .mcp.json',
    ...["autoApprove", "timeout", "description", "alwaysAllow"].map(
      (key) => `Ignored the unknown key mcpServers.a.${key} in .mcp.json`,
    ),
    'Ignored the MCP server of "mcpServers.b.type" in .mcp.json: koda does not speak SSE, only streamable HTTP ("http")',
    'Ignored "mcpServers.a.headers_command" in .mcp.json: only your own config.json may have it',
  ]);
});

test("a mistake in such a file is an error that names the file and the key", async () => {
  const rows: readonly (readonly [string | Uint8Array, string])[] = [
    ["{", "1:2: expected"],
    ["[]", "the top level is [], expected an object"],
    [new Uint8Array([0xff, 0xfe]), "it is not UTF-8"],
    [asFile({}).padEnd(1024 * 1024 + 1), "it is larger than 1 MiB"],
    [asFile([]), '"mcpServers" is not an object (the value is not shown, it may be a secret)'],
    [asFile({ a: 1 }), '"mcpServers.a" is not an object (the value is not shown, it may be a secret)'],
    [asFile({ a: {} }), '"mcpServers.a" needs either "command" or "url"'],
    [asFile({ a: { command: "x", url: "https://y" } }), '"mcpServers.a" needs either "command" or "url"'],
    [asFile({ a: { type: "ws", url: "wss://y" } }), '"mcpServers.a.type" is "ws", expected "stdio" or "http"'],
    [asFile({ a: { type: "http", command: "x" } }), '"mcpServers.a.type" is "http", which needs "url"'],
    [asFile({ a: { type: "sse", url: "https://y", required: true } }), '"mcpServers.a" is required, but speaks SSE'],
    [asFile({ a: { command: "x", args: "y" } }), '"mcpServers.a.args" is not a list of strings'],
    [asFile({ a: { comand: "x" } }), 'needs either "command" or "url", its keys are ["comand"]'],
    [asFile({ a: { command: "x", disabled: "yes" } }), '"mcpServers.a.disabled" is "yes", expected true or false'],
    [asFile({ "a b": { command: "x" } }), 'invalid MCP server name "a b"'],
    [asFile({ a: { url: "https://y", headers: { Host: "z" } } }), 'the header "Host" is set by koda itself'],
    ['{"mcpServers":{"a":{"command":"x"},"a":{"command":"y"}}}', 'duplicate key "a"'],
  ];
  for (const [content, problem] of rows) {
    await using place = makePlace({ ".mcp.json": content, "given.json": content });
    const given = join(place.project, "given.json");
    const { code, message } = await failureOf(load(place));
    expect({ code, message }).toEqual({ code: "config", message: expect.stringContaining(problem) });
    expect(message).toStartWith('Cannot read config ".mcp.json": ');
    const failure = await failureOf(load(place, { bare: true, mcpFiles: [given] }));
    expect(failure.message).toBe(message.replace(".mcp.json", given));
    // Without trust it stops nothing.
    expect((await load(place, { isTrusted: false })).config.mcp.servers.size).toBe(0);
  }
});

test("neither a link nor a pipe in the place of .mcp.json is read", async () => {
  await using place = makePlace();
  writeFileSync(join(place.home, "private.json"), asFile({ secret: { command: "x" } }));
  const file = join(place.project, ".mcp.json");
  symlinkSync(join(place.home, "private.json"), file);
  expect((await failureOf(load(place))).message).toContain("it is a symbolic link");
  expect((await load(place, { isTrusted: false })).project.skipped).toEqual([".mcp.json"]);
  expect((await load(place, { isTrusted: false, mcpFiles: [file] })).config.mcp.servers.has("secret")).toBe(true);

  await using other = makePlace();
  Bun.spawnSync(["mkfifo", join(other.project, ".mcp.json")]);
  expect((await failureOf(load(other))).message).toContain("a named pipe, not a file");
});

test("the nearest file has the whole of a server, and --config changes one key of it", async () => {
  await using place = makePlace({
    ".koda/config.json": JSON.stringify({ mcp: { servers: { b: { command: "of-config" } } } }),
    ".mcp.json": asFile({ c: { command: "of-mcp" }, d: { command: "of-mcp" } }),
    "given.json": asFile({ d: { url: "https://given" } }),
  });
  const server = (name: string) => ({ command: name, env: { SECRET: "x" }, required: true });
  configure(place, { mcp: { servers: { a: server("a"), b: server("b"), c: server("c"), d: server("d") } } });
  const given = join(place.project, "given.json");
  const elsewhere = join(place.home, "mine.json");
  writeFileSync(elsewhere, asFile({ e: { command: "mine" } }));
  const sets = ["mcp.servers.d.enabled=false"];
  const { config, origins } = await load(place, { mcpFiles: [given, elsewhere], sets });
  const bare = { env: new Map() };
  expect(config.mcp.servers.get("a")).toMatchObject({ required: true, isProjects: false });
  expect(config.mcp.servers.get("b")).toMatchObject({ required: false, transport: { command: "of-config", ...bare } });
  expect(config.mcp.servers.get("c")).toMatchObject({ required: false, transport: { command: "of-mcp", ...bare } });
  expect(config.mcp.servers.get("d")).toMatchObject({ enabled: false, isProjects: true, transport: { kind: "http" } });
  expect(config.mcp.servers.get("e")).toMatchObject({ isProjects: false });
  expect(origins.get("mcp.servers.d.url")).toBe(`flag --mcp-config ${given}`);
  expect((await failureOf(load(place, { mcpFiles: [join(place.home, "none.json")] }))).message).toContain(
    "there is no such file (--mcp-config)",
  );
});

test("an untrusted project's servers start nothing and change none of the user's", async () => {
  await using place = makePlace({
    ".koda/config.json": JSON.stringify({ mcp: { servers: { a: { command: "theirs" } } } }),
    ".mcp.json": asFile({ a: { command: "theirs" } }),
  });
  configure(place, { mcp: { servers: { a: { command: "mine" } } } });
  const { config, project } = await load(place, { isTrusted: false });
  expect(config.mcp.servers.get("a")?.transport).toMatchObject({ command: "mine" });
  expect(project.skipped).toEqual([".koda/config.json: mcp", ".mcp.json: a"]);
});
