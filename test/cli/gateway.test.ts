import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkLines, koda, start } from "../support/koda.ts";
import { call, type Entry, problem, say } from "../support/model-reply.ts";
import { type ModelRequestSeen, startModelServer } from "../support/model-server.ts";
import { configure as writeConfig, makePlace, type Place } from "../support/place.ts";
import { finished } from "../support/run.ts";

/** A provider of the user's own, as a company writes it into config.json. */
const configure = (place: Place, corp: object) => writeConfig(place, { providers: { corp } });

/** A program in the user's home that prints `key-1-…`, then `key-2-…`, and so on. */
function keyProgram(place: Place, print: string): string {
  const path = join(place.home, "print-key");
  writeFileSync(path, `#!/bin/sh\necho run >> "$HOME/runs"\nn=$(wc -l < "$HOME/runs" | tr -d ' ')\n${print}\n`, {
    mode: 0o755,
  });
  return path;
}

const runsOf = (place: Place) => {
  const log = join(place.home, "runs");
  return existsSync(log) ? readFileSync(log, "utf8").trim().split("\n").length : 0;
};

const authorizations = (requests: readonly ModelRequestSeen[]) => requests.map(({ headers }) => headers.authorization);

async function ask(place: Place, args: readonly string[] = [], env: Record<string, string> = {}) {
  return await koda(place, ["exec", "--no-sandbox", "-m", "corp/scripted", ...args, "Say hello"], { env });
}

test("each request goes to the gateway with the query of its address and the user's headers", async () => {
  await using place = makePlace();
  await using server = await startModelServer([call("Bash", { command: "true" }), say("Hello.")]);
  configure(place, {
    base_url: `${server.url}?api-version=2026-01-01&tenant=blue`,
    headers: { "X-Team": "platform", "X-Gateway-Key": "${GATEWAY_KEY}", "x-region": "${REGION:-eu}" },
  });
  const { exit, stderr } = await ask(place, [], { GATEWAY_KEY: "gateway-secret" });
  expect(exit, stderr).toBe(0);
  expect(server.requests).toHaveLength(2);
  for (const { path, headers } of server.requests) {
    expect(path).toBe("/v1/chat/completions?api-version=2026-01-01&tenant=blue");
    expect(headers).toMatchObject({ "x-team": "platform", "x-gateway-key": "gateway-secret", "x-region": "eu" });
    expect(headers.authorization).toBeUndefined();
  }
});

test("a header's variable that is not set stops the run before anything is asked", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("Hello.")]);
  configure(place, { base_url: server.url, headers: { "x-key": "${GATEWAY_KEY}" } });
  const { exit, stderr } = await ask(place);
  expect(stderr).toContain(
    'Cannot set the header "x-key" of the provider "corp": the environment variable GATEWAY_KEY',
  );
  expect(exit).toBe(4);
  expect(server.requests).toHaveLength(0);
});

test("api_key_command prints the key, without a shell and away from the project", async () => {
  await using place = makePlace({ "print-key": "#!/bin/sh\necho key-of-the-project\n" });
  await using server = await startModelServer([say("Hello.")]);
  keyProgram(place, `printf '  key-%s-%s\\n' "$1" "$(basename "$PWD")"`);
  configure(place, { base_url: server.url, api_key_command: ["./print-key", "$HOME"] });
  const { exit, stderr } = await ask(place);
  expect(exit, stderr).toBe(0);
  expect(authorizations(server.requests)).toEqual(["Bearer key-$HOME-home"]);
  expect(runsOf(place)).toBe(1);
});

test("a refused key is asked for again once, and the request goes on with the new one", async () => {
  await using place = makePlace();
  const replies: readonly Entry[] = [problem(401, "expired"), say("Hello.")];
  await using server = await startModelServer(replies);
  configure(place, { base_url: server.url, api_key_command: [keyProgram(place, "echo opaque-$n")] });
  const tape = join(place.home, "run.tape");
  const { exit, stderr } = await ask(place, ["--record", tape]);
  expect(exit, stderr).toBe(0);
  expect(authorizations(server.requests)).toEqual(["Bearer opaque-1", "Bearer opaque-2"]);
  expect(runsOf(place)).toBe(2);

  const replayed = await koda(place, ["exec", "--no-sandbox", "--replay", tape, "Say hello"]);
  expect(replayed).toMatchObject({ exit: 0, stdout: "Hello.\n" });
  expect(runsOf(place), "a replay runs no program").toBe(2);
});

test("a key that is refused twice is exit 4, and no message, event or cassette repeats it", async () => {
  await using place = makePlace();
  await using server = await startModelServer(({ headers }) =>
    problem(401, `bad token ${headers.authorization?.split(" ")[1]}`),
  );
  configure(place, { base_url: server.url, api_key_command: [keyProgram(place, "echo opaque-$n-credential")] });
  const tape = join(place.home, "run.tape");
  const { exit, stdout, stderr } = await ask(place, ["--record", tape, "--output", "jsonl"]);
  const { end } = checkLines({ exit, stdout, stderr, signal: null });
  expect(end.error?.message).toBe(
    'corp refused the key from api_key_command: 401 "bad token [key]". Check what the command prints',
  );
  expect(exit).toBe(4);
  expect(server.requests).toHaveLength(2);
  expect(stdout + stderr + readFileSync(tape, "utf8")).not.toMatch(/opaque-\d-credential/);
});

test("a key that says when it expires is renewed before it is used again", async () => {
  await using place = makePlace();
  await using server = await startModelServer([call("Bash", { command: "true" }), say("Hello.")]);
  const print = `echo '{"api_key": "opaque-'$n'", "expires_at": "2020-01-01T00:00:00Z"}'`;
  configure(place, { base_url: server.url, api_key_command: [keyProgram(place, print)] });
  const { exit, stderr } = await ask(place);
  expect(exit, stderr).toBe(0);
  expect(authorizations(server.requests)).toEqual(["Bearer opaque-2", "Bearer opaque-3"]);
});

test.each([
  [
    "fails",
    "echo token-half-printed; echo 'log in first (token-half-printed)' >&2; exit 3",
    'print-key" exited with 3: log in first ([key])',
  ],
  ["prints nothing", "true", "did not print a key"],
  ["prints a page", "echo one line; echo two", "did not print a key"],
  ["prints JSON without a key", `echo '{"token": "token-half-printed"}'`, "did not print a key"],
])("a program that %s is exit 4 with its stderr, without a session and without its output", async (_, print, says) => {
  await using place = makePlace();
  await using server = await startModelServer([say("Hello.")]);
  configure(place, { base_url: server.url, api_key_command: [keyProgram(place, print)] });
  const { exit, stderr, stdout } = await ask(place);
  expect(stderr).toContain('Cannot get the API key of the provider "corp": api_key_command');
  expect(stderr).toContain(says);
  expect(stderr + stdout).not.toContain("token-half-printed");
  expect(exit).toBe(4);
  expect(server.requests).toHaveLength(0);
  expect((await koda(place, ["session", "list", "--json"])).stdout).toBe("[]\n");
});

test("neither key nor headers go to another address", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("Hello.")]);
  configure(place, {
    base_url: "http://127.0.0.1:9/v1",
    api_key_command: [keyProgram(place, "echo opaque-$n")],
    headers: { "x-key": "gateway-secret" },
  });
  const { exit, stderr } = await ask(place, ["--base-url", server.url]);
  expect(exit, stderr).toBe(0);
  expect(server.requests[0]?.headers).not.toHaveProperty("authorization");
  expect(server.requests[0]?.headers).not.toHaveProperty("x-key");
  expect(runsOf(place)).toBe(0);
});

test("neither key nor headers go to the address that a variable names instead", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("Hello.")]);
  const openai = {
    base_url: "http://127.0.0.1:9/v1",
    wire: "chat",
    api_key_command: [keyProgram(place, "echo opaque-$n")],
    headers: { "x-key": "gateway-secret" },
  };
  writeConfig(place, { providers: { openai } });
  const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: "key-beside-it" };
  const { exit, stderr } = await koda(place, ["exec", "--no-sandbox", "-m", "openai/scripted", "Say hello"], { env });
  expect(exit, stderr).toBe(0);
  expect(authorizations(server.requests)).toEqual(["Bearer key-beside-it"]);
  expect(server.requests[0]?.headers).not.toHaveProperty("x-key");
  expect(runsOf(place)).toBe(0);
});

test("a project sets no provider, and runs no program", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("Hello.")]);
  await using other = await startModelServer([say("Caught.")]);
  configure(place, { base_url: server.url });
  const corp = {
    base_url: other.url,
    api_key_command: [keyProgram(place, "echo opaque-$n")],
    headers: { "x-a": "${HOME}" },
  };
  place.write(".koda/config.json", JSON.stringify({ providers: { corp } }));
  const { exit, stdout, stderr } = await ask(place, ["--output", "jsonl"]);
  const { events } = checkLines({ exit, stdout, stderr, signal: null });
  expect(events[0]).toMatchObject({ type: "session.start", skipped: [".koda/config.json: providers"] });
  expect(other.requests).toHaveLength(0);
  expect(server.requests[0]?.headers).not.toHaveProperty("authorization");
  expect(server.requests[0]?.headers).not.toHaveProperty("x-a");
  expect(runsOf(place)).toBe(0);
});

test("a project that is trusted sets its provider, but still runs no program", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("Hello.")]);
  await using user = await startModelServer([say("Not asked.")]);
  configure(place, { base_url: user.url });
  const corp = { base_url: server.url, api_key_command: [keyProgram(place, "echo opaque-$n")] };
  place.write(".koda/config.json", JSON.stringify({ providers: { corp } }));
  const { exit, stdout, stderr } = await ask(place, ["--output", "jsonl", "--trust-project"]);
  const { events } = checkLines({ exit, stdout, stderr, signal: null });
  expect(events[0]).toMatchObject({ skipped: [".koda/config.json: providers.corp.api_key_command"] });
  expect([server.requests.length, user.requests.length, runsOf(place)]).toEqual([1, 0, 0]);
  expect(stderr).toContain(
    'Ignored "providers.corp.api_key_command" in .koda/config.json: only your own config.json may have it',
  );
});

test("a run and a session with a project's provider need trust in the project, and say so", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("One."), say("Two.")]);
  const corp = { base_url: server.url };
  place.write(".koda/config.json", JSON.stringify({ model: "corp/scripted", providers: { corp } }));
  const untrusted = await koda(place, ["exec", "-m", "corp/scripted", "hello"]);
  expect([untrusted.exit, server.requests.length]).toEqual([2, 0]);
  expect(untrusted.stderr).toContain("--trust-project uses those of .koda/config.json");
  const trusted = await koda(place, ["exec", "--trust-project", "hello"]);
  expect([trusted.exit, trusted.stdout]).toEqual([0, "One.\n"]);
  const without = await koda(place, ["exec", "--last", "again"]);
  expect([without.exit, server.requests.length]).toEqual([2, 1]);
  expect(without.stderr).toContain("pass --trust-project to use the project's own providers");
  expect((await koda(place, ["exec", "--last", "--trust-project", "again"])).stdout).toBe("Two.\n");
});

test("commands see no variable that a header is made of, even when it is asked for", async () => {
  await using place = makePlace();
  await using server = await startModelServer([call("Bash", { command: "env" }), say("Done.")]);
  configure(place, { base_url: server.url, headers: { "x-pass": "${GATEWAY_PASS}" } });
  const { exit, stderr } = await ask(place, ["--allow-env", "GATEWAY_PASS"], { GATEWAY_PASS: "gateway-secret" });
  expect(exit, stderr).toBe(0);
  const result = server.requests[1]?.raw ?? "";
  expect(result).toContain("TMPDIR=");
  expect(result).not.toContain("gateway-secret");
});

test("a header that says who asks takes nothing from commands and hides nothing in messages", async () => {
  await using place = makePlace();
  const replies: readonly Entry[] = [
    call("Bash", { command: "sh -c 'echo in production: $USER:$PATH'" }),
    say("Done."),
  ];
  await using server = await startModelServer(replies);
  const headers = { "x-user": "${USER}", "x-stage": "${STAGE:-production}", "x-trace": "${TRACE_TOKEN:-production}" };
  configure(place, { base_url: server.url, headers });
  const PATH = `/opt/developer/bin:${process.env.PATH}`;
  const tape = join(place.home, "run.tape");
  const { exit, stderr } = await ask(place, ["--record", tape], { USER: "developer", PATH });
  expect(exit, stderr).toBe(0);
  expect(server.requests[1]?.lines.map(({ text }) => text).join("\n")).toContain(`in production: developer:${PATH}`);
  expect(server.requests[0]?.headers).toMatchObject({ "x-user": "developer", "x-stage": "production" });
  expect(readFileSync(tape, "utf8")).toContain("in production: developer");
});

test("koda doctor --config shows each value with its origin, but no key", async () => {
  await using place = makePlace();
  configure(place, {
    base_url: "https://llm.corp.invalid/v1?api-version=3&key=query-secret",
    api_key_command: ["vault", "read", "--token=sk-argument-secret"],
    headers: { "x-key": "header-secret", authorization: "Bearer ${GATEWAY_KEY}" },
  });
  const file = join(place.home, ".config/koda/config.json");
  const { stdout, exit } = await koda(place, ["doctor", "--config", "--json"]);
  expect(exit).toBe(0);
  const lines = JSON.parse(stdout) as unknown[];
  for (const [key, value] of [
    ["base_url", "https://llm.corp.invalid/v1?api-version=3&key=***"],
    ["api_key_command", ["vault", "read", "--token=[key]"]],
    ["headers.x-key", "***"],
    ["headers.authorization", "Bearer ${GATEWAY_KEY}"],
  ] as const)
    expect(lines).toContainEqual({ key: `providers.corp.${key}`, value, origin: `user ${file}` });
  const table = await koda(place, ["doctor", "--config"]);
  expect(table.stdout).toContain("Bearer ${GATEWAY_KEY}");
  expect(table.stdout + stdout).not.toMatch(/(query|argument|header)-secret/);
  for (const args of [["models"], ["models", "--json"]])
    expect((await koda(place, args)).stdout).not.toContain("query-secret");
});

test("koda models says where the key comes from, without running the program", async () => {
  await using place = makePlace();
  configure(place, { base_url: "https://llm.corp.invalid/v1", api_key_command: [keyProgram(place, "echo opaque-$n")] });
  const { stdout } = await koda(place, ["models"]);
  expect(stdout).toMatch(/^✓ corp +api_key_command$/m);
  expect(runsOf(place)).toBe(0);
});

test.each([
  [["exec", "--json", "--no-sandbox", "Say hello"], "SIGTERM", 143],
  [["doctor"], "SIGINT", 130],
  [["models", "corp"], "SIGINT", 130],
] as const)("a signal while %j waits for the key command ends both", async (args, signal, exit) => {
  await using place = makePlace();
  Bun.spawnSync(["mkfifo", join(place.home, "gate"), join(place.home, "never")]);
  const program = keyProgram(place, 'echo "$$" > "$HOME/gate"; read -r _ < "$HOME/never"');
  configure(place, { base_url: "http://127.0.0.1:9/v1", api_key_command: [program] });
  const child = start(place, args, { env: { KODA_MODEL: "corp/scripted" } });
  const pid = Number(await Bun.file(join(place.home, "gate")).text());
  child.kill(signal);
  const ran = await finished(child);
  expect(ran).toMatchObject({ exit, signal: null });
  if (exit === 143) expect(checkLines(ran).end).toMatchObject({ exit, session: null });
  else expect(ran).toMatchObject({ stdout: "", stderr: "koda: Stopped by SIGINT\n" });
  expect(existsSync(`/proc/${pid}`)).toBe(false);
});

test.each([
  ["ends a command that has nothing to stop", ["models"], { exit: null, signal: "SIGINT", stderr: "" }],
  ["stops a request for models", ["models", "corp"], { exit: 130, signal: null, stderr: "koda: Stopped by SIGINT\n" }],
])("the first signal %s", async (_what, args, expected) => {
  await using place = makePlace();
  const asked = Promise.withResolvers<void>();
  const silent = Promise.withResolvers<Response>();
  await using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async () => {
      asked.resolve();
      return await silent.promise;
    },
  });
  configure(place, { base_url: `http://127.0.0.1:${server.port}/v1` });
  const child = start(place, args);
  await asked.promise;
  child.kill("SIGINT");
  expect(await finished(child)).toEqual({ stdout: "", ...expected });
  silent.resolve(new Response());
});

test("a key command is not taken from where the model's commands can put one", async () => {
  await using place = makePlace();
  await using server = await startModelServer(() => say("Hello."));
  const bin = join(place.project, ".venv/bin");
  const planted = '#!/bin/sh\ntouch "$HOME/planted"; echo planted-key\n';
  mkdirSync(bin, { recursive: true });
  for (const name of ["cat", "own"]) writeFileSync(join(bin, name), planted, { mode: 0o755 });
  writeFileSync(join(place.home, "key"), "key-from-the-file\n");
  const PATH = `${bin}:${place.env.PATH}`;

  for (const command of [
    ["cat", join(place.home, "key")],
    ["sh", "-c", 'cat "$HOME/key"'],
  ]) {
    configure(place, { base_url: server.url, api_key_command: command });
    expect((await ask(place, [], { PATH })).exit).toBe(0);
  }
  expect(authorizations(server.requests)).toEqual(Array(2).fill("Bearer key-from-the-file"));

  for (const [name, problem] of [
    ["own", "was not found"],
    [join(bin, "own"), "which the model's commands can change"],
  ] as const) {
    configure(place, { base_url: server.url, api_key_command: [name] });
    const { exit, stderr } = await ask(place, [], { PATH });
    expect(exit).toBe(4);
    expect(stderr).toContain(problem);
  }
  expect(existsSync(join(place.home, "planted"))).toBe(false);
});
