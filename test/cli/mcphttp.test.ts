import { expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { exec, type Line } from "../support/koda.ts";
import { serverOf, untilSaid } from "../support/mcp.ts";
import { type McpHttp, startMcpHttp } from "../support/mcphttp.ts";
import { call, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { configure, makePlace, type Place } from "../support/place.ts";

const serversOf = (events: readonly Line[]) => {
  const [first] = events;
  if (first?.type !== "session.start") throw new Error(`The first event is ${first?.type}`);
  return first.mcp;
};
const results = (events: readonly Line[]) => events.filter((event) => event.type === "tool.end");

/** One run that calls the server's tool, with the server in the user's own configuration. */
async function run(place: Place, server: Record<string, unknown>, args: readonly string[] = [], env = {}) {
  configure(place, { mcp: { servers: { web: server } } });
  await using model = await startModelServer([call("web__ask"), say("Done.")]);
  const ran = await exec(place, model, [...args, "go"], { env });
  const [result] = results(ran.events);
  return { ...ran, result, server: serversOf(ran.events)[0], sent: model.requests.map(({ raw }) => raw).join("\n") };
}

/** A program in the user's home that notes each of its runs. */
function program(place: Place, script: string): string {
  const path = join(place.home, "headers");
  writeFileSync(path, `#!/bin/sh\necho run >> ${path}.log\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

test("a server over HTTP answers with JSON, with a stream, and within a session", async () => {
  for (const options of [{}, { streams: true }, { session: "s-1" }, { session: "s-2", streams: true }]) {
    await using place = makePlace();
    using server = startMcpHttp(options);
    const { result, server: state } = await run(place, { url: server.url });
    expect(state).toEqual({ name: "web", status: "connected" });
    expect(result, JSON.stringify(options)).toMatchObject({ ok: true, summary: "said" });
    expect(server.methods).toContain("tools/call");
  }
});

test("the user's own server is reached without naming it twice, and commands reach it no more than before", async () => {
  await using place = makePlace();
  using server = startMcpHttp();
  const outcome = async (...args: string[]) => {
    const { server: state, end } = await run(place, { url: server.url }, args);
    return state?.status === "connected" ? "connected" : `${state?.error} ${end.exit}`;
  };
  expect(await outcome()).toBe("connected");
  expect(await outcome("--net", "none")).toContain("--net allowlist --allow-net");
  expect(await outcome("--deny-net", server.host)).toContain("denied by the pattern");

  configure(place, { mcp: { servers: { web: { url: server.url } } } });
  const command = `curl -sS -m 5 --noproxy '' ${server.url} 2>&1; echo`;
  await using model = await startModelServer([call("Bash", { command }), say("Done.")]);
  const { events } = await exec(place, model, ["go"]);
  expect(events.filter((event) => event.type === "egress" && event.verdict === "refused")).toHaveLength(1);
  const agents = server.requests.map((headers) => headers.get("user-agent") ?? "");
  expect(agents.filter((agent) => agent.startsWith("curl"))).toEqual([]);
});

test("a server of a project's file is reached only where the rules allow it, and the flag is named", async () => {
  using server = startMcpHttp();
  const file = JSON.stringify({ mcpServers: { web: { type: "http", url: server.url } } });
  await using place = makePlace({ ".mcp.json": file });
  const outcome = async (...args: string[]) => {
    await using model = await startModelServer([say("Done.")]);
    return serversOf((await exec(place, model, [...args, "go"])).events)[0];
  };
  const refused = {
    name: "web",
    status: "failed",
    error: expect.stringContaining(`--allow-net ${server.host} allows it`),
  };
  expect(await outcome("--trust-project")).toMatchObject(refused);
  expect(await outcome("--mcp-config", ".mcp.json")).toMatchObject(refused);
  expect(server.requests).toHaveLength(0);
  expect(await outcome("--trust-project", "--allow-net", server.host)).toEqual({ name: "web", status: "connected" });
});

const authorized = (token: string) => (request: Request) =>
  request.headers.get("authorization") === `Bearer ${token}`
    ? undefined
    : new Response(`bad credentials ${request.headers.get("authorization")}`, { status: 401 });

test("a server that wants a sign-in is told, with the keys that give it a token", async () => {
  await using place = makePlace();
  using server = startMcpHttp({ first: authorized("token-12345678") });
  const none = await run(place, { url: server.url });
  expect(none.server?.error).toContain("it wants a sign-in (HTTP 401), and koda has no browser flow");
  expect(none.server?.error).toContain('"headers"');
  const { requests } = server;
  const asked = requests.length;
  expect(asked, "it is not asked again and again").toBeLessThanOrEqual(2);
  const wrong = await run(place, { url: server.url, headers: { Authorization: "Bearer wrong-12345678" } });
  expect(wrong.server?.error).toBe('it does not accept the credentials in "headers" (HTTP 401)');
  const headers = { Authorization: "Bearer ${WEB_TOKEN}" };
  const right = await run(place, { url: server.url, headers }, [], { WEB_TOKEN: "token-12345678" });
  expect(right.result).toMatchObject({ ok: true, summary: "said" });
});

test("headers_command is run at the first request, and once more after a 401", async () => {
  await using place = makePlace();
  const state = { token: "token-11111111" };
  using server = startMcpHttp({
    first: (request) => {
      if (request.headers.get("mcp-protocol-version") !== null) state.token = "token-22222222";
      return authorized(state.token)(request);
    },
  });
  const counter = join(place.home, "headers.log");
  const path = program(
    place,
    `printf '{"Authorization": "Bearer token-%s"}' "$(if [ $(wc -l < "${counter}") = 1 ]; then echo 11111111; else echo 22222222; fi)"`,
  );
  const { result, server: connected, stdout, stderr } = await run(place, { url: server.url, headers_command: [path] });
  expect(connected).toEqual({ name: "web", status: "connected" });
  expect(result).toMatchObject({ ok: true });
  expect(readFileSync(counter, "utf8")).toBe("run\nrun\n");
  expect(stdout + stderr).not.toMatch(/token-\d/);
});

test("a headers_command that does not print headers is an error without what it printed", async () => {
  await using place = makePlace();
  using server = startMcpHttp();
  const rows = [
    ["echo secret-123456", "did not print headers: expected a JSON object"],
    ['echo \'{"Host": "secret-123456"}\'', 'printed bad headers: the header "Host" is set by koda itself'],
    [`echo '{"X-A": 5}'; echo secret-123456`, "did not print headers"],
    ["echo secret-123456; echo unknown secret-123456 >&2", "did not print headers: expected a JSON object"],
    ["echo no vault >&2; exit 3", "exited with 3: no vault"],
  ] as const;
  for (const [script, problem] of rows) {
    const path = program(place, script);
    const { server: state, stdout } = await run(place, { url: server.url, headers_command: [path] });
    expect(state?.error).toContain(
      `Cannot get the headers of the MCP server "web": headers_command "${path}" ${problem}`,
    );
    expect(stdout).not.toContain("secret-123456");
  }
  expect(server.requests).toHaveLength(0);
});

test("headers_command comes from the user's own configuration, and from no place that commands can write to", async () => {
  await using place = makePlace();
  using server = startMcpHttp();
  const path = place.write("headers", `#!/bin/sh\ntouch ${place.home}/ran\necho '{}'\n`);
  chmodSync(path, 0o755);
  const own = await run(place, { url: server.url, headers_command: [path] });
  expect(own.server?.error).toContain("which the model's commands can change");
  const entry = { url: server.url, headers_command: [path] };
  place.write(".mcp.json", JSON.stringify({ mcpServers: { theirs: entry } }));
  place.write(".koda/config.json", JSON.stringify({ mcp: { servers: { other: entry } } }));
  const { events } = await run(place, { url: server.url }, ["--trust-project", "--allow-net", server.host]);
  expect(serversOf(events).map(({ status }) => status)).toEqual(["connected", "connected", "connected"]);
  expect(events[0]).toMatchObject({
    skipped: [".koda/config.json: mcp.servers.other.headers_command", ".mcp.json: mcpServers.theirs.headers_command"],
  });
  expect(existsSync(join(place.home, "ran"))).toBe(false);
});

test("no secret of a server is repeated: not in errors, results, events, or what the model is sent", async () => {
  await using place = makePlace();
  const secret = "hunter2-hunter2";
  const failing = startMcpHttp({ first: () => new Response(`oops ${secret}`, { status: 500 }) });
  using _ = failing;
  using talking = startMcpHttp({ says: `you are ${secret}, in "${secret}"` });
  const headers = { "X-Api-Key": "${WEB_KEY}" };
  for (const { url } of [failing, talking]) {
    const ran = await run(place, { url, headers }, ["--allow-env", "WEB_KEY"], { WEB_KEY: secret });
    expect(ran.stdout + ran.stderr + ran.sent).not.toContain(secret);
    expect(ran.stderr).toContain(
      '"WEB_KEY" is not passed on to commands: it holds the key of a provider or of an MCP server',
    );
  }
  const database = readFileSync(join(place.home, ".local/share/koda/koda.db"));
  expect(database.includes(secret)).toBe(false);
  expect((await run(place, { url: talking.url, headers }, [], { WEB_KEY: secret })).result?.summary).toBe(
    'you are [key], in "[key]"',
  );
});

test("nor is a secret of a program: not in its last words, and not in a result", async () => {
  await using place = makePlace();
  const secret = "hunter2-hunter2";
  const env = { API_TOKEN: "${S_TOKEN}" };
  const tools = [{ name: "run", does: "run", annotations: { readOnlyHint: true } }] as const;
  const servers = {
    s: serverOf({ tools }, { env }),
    t: serverOf({ exits: 3, noise: `no access with ${secret}\n` }, { env, required: false }),
  };
  configure(place, { mcp: { servers } });
  await using model = await startModelServer([call("s__run", { command: "echo have $API_TOKEN" }), say("Done.")]);
  const { stdout, stderr, events, end } = await exec(place, model, ["go"], { env: { S_TOKEN: secret } });
  expect(results(events)[0]?.summary).toContain("have [key]");
  expect(end.mcp?.[0]?.error).toBe("exited with 3: no access with [key]");
  expect(stdout + stderr + model.requests.map(({ raw }) => raw).join("")).not.toContain(secret);
});

test("an address that is none, or that another name of this machine leads to", async () => {
  await using place = makePlace();
  using server = startMcpHttp();
  const bad = await run(place, { url: "${WEB_URL}" }, [], { WEB_URL: "no-address-but-a-secret" });
  expect(bad.server?.error).toBe('its "url" is not an address when its variables are replaced');
  const named = await run(place, { url: server.url.replace("127.0.0.1", "localhost") });
  expect(named.server).toEqual({ name: "web", status: "connected" });
});

test("the model reads the whole of an error that says how to call a tool", async () => {
  await using place = makePlace();
  const message = `${"expected a number, ".repeat(100)}at the end`;
  const fails = (_: Request, body: string) => {
    if (!body.includes("tools/call")) return undefined;
    const { id } = JSON.parse(body);
    return Response.json({ jsonrpc: "2.0", id, error: { code: -32602, message } });
  };
  using server = startMcpHttp({ first: fails });
  const { result, sent } = await run(place, { url: server.url });
  expect(result).toMatchObject({ ok: false });
  expect(sent).toContain(message);
});

test("a server that has forgotten the session is connected to again", async () => {
  await using place = makePlace();
  let calls = 0;
  const forgets = (_: Request, body: string) =>
    body.includes("tools/call") && calls++ === 0 ? new Response("what session?", { status: 404 }) : undefined;
  using server = startMcpHttp({ session: "s-1", first: forgets });
  configure(place, { mcp: { servers: { web: { url: server.url, required: true } } } });
  await using model = await startModelServer(untilSaid("said", [], (n) => call("web__ask", { n })));
  const { events } = await exec(place, model, ["go"]);
  const [first] = results(events);
  const second = results(events).at(-1);
  expect(first).toMatchObject({ ok: false, summary: expect.stringContaining("it has forgotten the session") });
  expect(second).toMatchObject({ ok: true, summary: "said" });
  expect(server.methods.filter((method) => method === "initialize")).toHaveLength(2);
});

test("a redirect within the server is followed, and one to another does not get the headers", async () => {
  await using place = makePlace();
  using other = startMcpHttp();
  const to = (location: string, status: number) => (request: Request) =>
    new URL(request.url).pathname === "/mcp" ? new Response(null, { status, headers: { location } }) : undefined;
  const headers = { Authorization: "Bearer token-12345678" };
  using within = startMcpHttp({ first: to("/mcp/", 307) });
  expect((await run(place, { url: within.url, headers })).result).toMatchObject({ ok: true });
  using away = startMcpHttp({ first: to(`${other.url}?token=x`, 307) });
  const { server } = await run(place, { url: away.url, headers }, ["--allow-net", other.host]);
  expect(server?.error).toBe(`it redirects to "${other.url}" (HTTP 307): put that address into its "url"`);
  expect(other.requests).toHaveLength(0);
});

test("a redirect with a body that never ends is followed, and its connection closed", async () => {
  await using place = makePlace();
  const endless = () => new ReadableStream({ pull: (body) => body.enqueue(Buffer.alloc(65_536)) });
  using server = startMcpHttp({
    first: (request) =>
      new URL(request.url).pathname === "/mcp"
        ? new Response(endless(), { status: 307, headers: { location: "/mcp/" } })
        : undefined,
  });
  const { result, stderr } = await run(place, { url: server.url });
  expect(result).toMatchObject({ ok: true });
  expect(stderr).not.toContain("Error");
});

test("a server that never comes to its response is left", async () => {
  await using place = makePlace();
  using server = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { data: (socket) => void socket.write("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(200)) },
  });
  const { server: state } = await run(place, { url: `http://127.0.0.1:${server.port}/mcp` });
  expect(state?.error).toContain("it sent more than 100 interim responses");
});

test("an event that never ends is not kept in memory", async () => {
  await using place = makePlace();
  let sent = 0;
  const line = Buffer.from(`data: ${"x".repeat(1_000)}\n`.repeat(64));
  const endless = () =>
    new ReadableStream({
      pull(body) {
        sent += line.length;
        body.enqueue(line);
        if (sent > 256 * 2 ** 20) body.close();
      },
    });
  using server = startMcpHttp({
    first: (_, body) =>
      body.includes("tools/call")
        ? new Response(endless(), { headers: { "content-type": "text/event-stream" } })
        : undefined,
  });
  const { result, end, stderr } = await run(place, { url: server.url, call_timeout: "3s" });
  expect(result).toMatchObject({ ok: false });
  expect(end.status).toBe("done");
  expect(stderr).not.toContain("TypeError");
  expect(sent).toBeLessThan(48 * 2 ** 20);
}, 15_000);

test("an image that no provider would take is named in its place", async () => {
  await using place = makePlace();
  const png = `iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ${"A".repeat(8_000_000)}`;
  using server = startMcpHttp({
    first: (_, body) => {
      if (!body.includes("tools/call")) return undefined;
      const content = [{ type: "image", mimeType: "image/png", data: png }];
      return Response.json({ jsonrpc: "2.0", id: JSON.parse(body).id, result: { content } });
    },
  });
  const { result } = await run(place, { url: server.url });
  expect(result).toMatchObject({ ok: true, summary: '[an image of the type "image/png", not shown]' });
});

test("a server that sends too much, or nothing, costs only itself", async () => {
  await using place = makePlace();
  const inCall = (answer: () => Response | Promise<Response>) => async (_: Request, body: string) =>
    body.includes("tools/call") ? await answer() : undefined;
  using huge = startMcpHttp({
    first: inCall(() => new Response("x".repeat(50 * 2 ** 20), { headers: { "content-type": "application/json" } })),
  });
  const flooded = await run(place, { url: huge.url });
  expect(flooded.result).toMatchObject({ ok: false, summary: expect.stringContaining("more than 10 MiB") });
  expect(flooded.end.status).toBe("done");
  using hanging = startMcpHttp({ first: inCall(() => new Promise<Response>(() => undefined)) });
  const hung = await run(place, { url: hanging.url, call_timeout: "300ms" });
  expect(hung.result).toMatchObject({ ok: false, summary: expect.stringContaining("timed out") });
  const dead: McpHttp = startMcpHttp();
  dead[Symbol.dispose]();
  const gone = await run(place, { url: dead.url });
  expect(gone.server?.error).toContain("cannot be reached (ECONNREFUSED)");
});
