import { expect, test } from "bun:test";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { koda } from "../support/koda.ts";
import { serverOf } from "../support/mcp.ts";
import { startMcpHttp } from "../support/mcphttp.ts";
import { refusingUrl } from "../support/model-server.ts";
import { configure, makePlace, type Place } from "../support/place.ts";

const configOf = ({ home }: Place) => join(home, ".config/koda/config.json");
const readConfig = (place: Place) => readFileSync(configOf(place), "utf8");
const mcp = (place: Place, ...args: string[]) => koda(place, ["mcp", ...args]);
const tools = [{ name: "a" }, { name: "b" }];

test("add writes a server into a new configuration that only its user can read", async () => {
  await using place = makePlace();
  const added = await mcp(
    place,
    "add",
    "files",
    "-e",
    "TOKEN=${FILES}",
    "--required",
    "--",
    "npx",
    "-y",
    "server",
    "--x",
  );
  expect(added).toMatchObject({
    exit: 0,
    stdout: `Added "files" to ${configOf(place)}; koda mcp check files starts it\n`,
    stderr: "",
  });
  expect(JSON.parse(readConfig(place))).toEqual({
    mcp: {
      servers: { files: { command: "npx", args: ["-y", "server", "--x"], env: { TOKEN: "${FILES}" }, required: true } },
    },
  });
  expect(statSync(configOf(place)).mode & 0o777).toBe(0o600);

  const web = await mcp(
    place,
    "add",
    "web",
    "--url",
    "https://mcp.example.com/mcp",
    "--header",
    "Authorization: Bearer ${T}",
    "-H",
    "X-Team=a",
  );
  expect(web.exit).toBe(0);
  expect(JSON.parse(readConfig(place)).mcp.servers.web).toEqual({
    url: "https://mcp.example.com/mcp",
    headers: { Authorization: "Bearer ${T}", "X-Team": "a" },
  });
});

test("add and remove keep comments, formatting, the mode and a link of the file", async () => {
  await using place = makePlace();
  const text =
    '{\n\t// mine\n\t"mode": "safe", /* here */\n\t"mcp": {\n\t\t"servers": {\n\t\t\t"old": { "command": "x" } // old\n\t\t}\n\t},\n}\n';
  const dotfiles = join(place.home, "dotfiles.json");
  writeFileSync(dotfiles, text);
  chmodSync(dotfiles, 0o640);
  mkdirSync(dirname(configOf(place)), { recursive: true });
  symlinkSync(dotfiles, configOf(place));
  expect((await mcp(place, "add", "new", "--", "y")).exit).toBe(0);
  const added = readFileSync(dotfiles, "utf8");
  expect(added).toContain('\n\t\t\t"new": {\n\t\t\t\t"command": "y"\n\t\t\t}');
  for (const comment of ["// mine", "/* here */", "// old"]) expect(added).toContain(comment);
  expect((await mcp(place, "remove", "new")).exit).toBe(0);
  const removed = readFileSync(dotfiles, "utf8");
  expect(removed).not.toContain("new");
  expect(removed).toContain("// mine");
  expect(lstatSync(configOf(place)).isSymbolicLink()).toBe(true);
  expect(statSync(dotfiles).mode & 0o777).toBe(0o640);
});

test("a taken or invalid name, and a file that cannot be read, change nothing", async () => {
  await using place = makePlace();
  const file = configure(place, { mcp: { servers: { taken: { command: "x" } } } });
  const before = readConfig(place);
  const rows: readonly (readonly [args: string[], message: string])[] = [
    [["add", "taken", "--", "y"], `"taken" is taken in ${file} (koda mcp remove taken removes it)`],
    [["add", "a b", "--", "y"], 'invalid MCP server name "a b"'],
    [["add", "a__b", "--", "y"], 'invalid MCP server name "a__b"'],
    [["add", "a", "https://b"], '"https://b" is a URL, not a program: write --url https://b'],
    [["add", "a", "--url", "ftp://b"], "--url: expected an http:// or https:// URL"],
    [["add", "a", "--url", "https://b", "-H", "Host=c"], 'the header "Host" is set by koda itself'],
    [["add", "a", "-e", "1=2", "--", "y"], "-e: expected NAME=VALUE"],
    [["remove", "other"], `No MCP server "other" in ${file}`],
  ];
  for (const [args, message] of rows) {
    const { exit, stderr } = await mcp(place, ...args);
    expect({ exit, stderr }).toEqual({ exit: 2, stderr: expect.stringContaining(message) });
  }
  expect(readConfig(place)).toBe(before);
  configure(place, "{ broken");
  expect(await mcp(place, "add", "a", "--", "y")).toMatchObject({ exit: 2, stdout: "" });
  expect(readConfig(place)).toBe("{ broken");
});

test("a secret in the file itself is pointed out, and never printed", async () => {
  await using place = makePlace();
  const first = await mcp(place, "add", "a", "-e", "API_TOKEN=hunter2-hunter2", "-e", "PLAIN=1", "--", "y");
  expect(first.stderr).toContain("warning: API_TOKEN can be read in");
  const second = await mcp(place, "add", "b", "--url", "https://b", "-H", "Authorization=Bearer hunter2-hunter2");
  expect(second.stderr).toContain("warning: Authorization can be read in");
  const listed = await mcp(place, "list", "--json");
  const all = [first, second, listed].map(({ stdout, stderr }) => stdout + stderr).join("");
  expect(all).not.toContain("hunter2");
});

test("list names each server with its origin, and what is skipped for want of trust", async () => {
  const file = JSON.stringify({ mcpServers: { theirs: { type: "http", url: "https://theirs.example/mcp?key=abc" } } });
  await using place = makePlace({ ".mcp.json": file, "more.json": '{"mcpServers": {"more": {"command": "z"}}}' });
  expect(await mcp(place, "list")).toMatchObject({
    exit: 0,
    stdout: "",
    stderr: expect.stringContaining("No MCP servers"),
  });
  const own = configure(place, { mcp: { servers: { mine: { command: "npx", args: ["-y"], enabled: false } } } });
  const untrusted = await mcp(place, "list", "--json");
  const mine = {
    name: "mine",
    transport: "stdio",
    target: "npx -y",
    enabled: false,
    required: false,
    origin: `user ${own}`,
  };
  expect(JSON.parse(untrusted.stdout)).toEqual({ servers: [mine], skipped: [".mcp.json: theirs"] });
  const page = await mcp(place, "list", "--trust-project", "--mcp-config", "more.json");
  expect(page.stdout.replace(/ +/g, " ")).toBe(
    [
      "NAME TRANSPORT COMMAND OR URL FROM",
      `mine stdio, disabled npx -y user ${own}`,
      "theirs http https://theirs.example/mcp?key=*** project .mcp.json",
      `more stdio z flag --mcp-config ${join(place.project, "more.json")}`,
      "",
    ].join("\n"),
  );
  const skipped = await mcp(place, "list");
  expect(skipped.stderr).toBe("koda: Ignored the MCP servers in .mcp.json, which need --trust-project: theirs\n");
});

test("check starts each server as a run would, and exits with 1 when one fails", async () => {
  await using place = makePlace();
  using web = startMcpHttp();
  using closed = startMcpHttp({ first: () => new Response(null, { status: 401 }) });
  const servers = {
    good: serverOf({ tools }),
    off: serverOf({ exits: 1 }, { enabled: false }),
    web: { url: web.url },
  };
  configure(place, { mcp: { servers } });
  expect(await mcp(place, "check")).toMatchObject({
    exit: 0,
    stdout: "✓ good 2 tools\n- off  disabled\n✓ web  1 tool\n",
    stderr: "",
  });
  configure(place, {
    mcp: { servers: { ...servers, bad: serverOf({ exits: 3, noise: "no license\n" }), closed: { url: closed.url } } },
  });
  const { exit, stdout } = await mcp(place, "check", "--json");
  expect(exit).toBe(1);
  expect(JSON.parse(stdout)).toEqual([
    { name: "good", status: "ok", tools: 2 },
    { name: "off", status: "disabled", tools: 0 },
    { name: "web", status: "ok", tools: 1 },
    { name: "bad", status: "failed", tools: 0, error: "exited with 3: no license" },
    { name: "closed", status: "failed", tools: 0, error: expect.stringContaining("it wants a sign-in (HTTP 401)") },
  ]);
  expect(await mcp(place, "check", "good")).toMatchObject({ exit: 0, stdout: "✓ good 2 tools\n" });
  expect(await mcp(place, "check", "other")).toMatchObject({
    exit: 2,
    stderr: expect.stringContaining('No MCP server "other": there are good, off, web, bad, closed'),
  });
  expect(await mcp(place, "check", "web", "--net", "none")).toMatchObject({ exit: 1 });
});

test("check says where the sandbox does not see a server's program", async () => {
  await using place = makePlace();
  const hidden = join(place.home, ".ssh/server.ts");
  mkdirSync(dirname(hidden));
  copyFileSync(resolve("test/support/mcp-program.ts"), hidden);
  const temporary = join(place.env.TMPDIR ?? "", "server.ts");
  copyFileSync(hidden, temporary);
  const server = (path: string) => ({ command: process.execPath, args: [path, "{}"] });
  configure(place, { mcp: { servers: { hidden: server(hidden), temporary: server(temporary) } } });
  const { exit, stdout } = await mcp(place, "check");
  expect(exit).toBe(1);
  expect(stdout).toContain(`fix: "${hidden}" is hidden in the sandbox: --allow-read "${hidden}" shows it, or move it`);
  expect(stdout).toContain(`fix: "${temporary}" lies in /tmp, and the sandbox has another one: move it`);
  expect(await mcp(place, "check", "hidden", "--allow-read", hidden)).toMatchObject({ exit: 0 });
  expect(existsSync(join(place.home, ".local/share/koda/koda.db"))).toBe(false);
});

test("a server that does not answer in time is told so", async () => {
  await using place = makePlace();
  configure(place, { mcp: { servers: { silent: serverOf({ silent: true }, { start_timeout: "300ms" }) } } });
  const { exit, stdout } = await mcp(place, "check");
  expect({ exit, stdout }).toEqual({
    exit: 1,
    stdout: expect.stringContaining("it did not answer within 300ms (start_timeout)"),
  });
});

test("a server that cannot be reached is told of once", async () => {
  await using place = makePlace();
  configure(place, { mcp: { servers: { gone: { url: await refusingUrl() } } } });
  const { exit, stderr } = await mcp(place, "check");
  expect([exit, stderr.match(/cannot be reached/g)?.length]).toEqual([1, 1]);
});

test("names of servers are completed", async () => {
  await using place = makePlace();
  configure(place, { mcp: { servers: { one: { command: "x" }, two: { url: "https://y" } } } });
  expect((await koda(place, ["__complete", "servers"])).stdout).toBe("one\ntwo\n");
});
