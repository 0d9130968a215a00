import { expect, test } from "bun:test";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LoadedConfig } from "../../lib/config/config.ts";
import { describeConfig } from "../../lib/config/describe.ts";
import { loadConfig } from "../../lib/config/load.ts";
import { failureOf } from "../support/failure.ts";
import { evaluateAsNobody, letEveryoneIn } from "../support/nobody.ts";
import { configure, makePlace, type Place } from "../support/place.ts";

const projectName = ".koda/config.json";

type Given = Partial<Parameters<typeof loadConfig>[0]> & { user?: unknown; project?: unknown };

async function load(given: Given = {}): Promise<LoadedConfig> {
  await using place = makePlace();
  return await loadIn(place, given);
}

async function loadIn(place: Place, { user, project, ...request }: Given = {}): Promise<LoadedConfig> {
  if (user !== undefined) configure(place, user);
  if (project !== undefined) place.write(projectName, asText(project));
  const standing = {
    env: {},
    home: place.home,
    root: place.project,
    bare: false,
    isTrusted: false,
    sets: [],
    overrides: {},
  };
  return await loadConfig({ ...standing, ...request });
}

const userFile = (place: Place) => join(place.home, ".config/koda/config.json");
const asText = (content: unknown) => (typeof content === "string" ? content : JSON.stringify(content));

test("without any file the defaults hold, and say so", async () => {
  const { config, origins, project } = await load();
  expect(config).toEqual({
    model: undefined,
    mode: "auto",
    providers: new Map(),
    modelDefaults: { contextWindow: 128_000, streamIdleMs: 300_000 },
    limits: {
      maxTurns: 200,
      maxTokens: undefined,
      maxCostUsd: undefined,
      timeoutMs: undefined,
      idleTimeoutMs: undefined,
      maxCommandTimeMs: 300_000,
    },
    compaction: { auto: true, at: 0.85 },
    approvals: { commands: [] },
    sandbox: { write: [], read: [], hide: [], allowGit: false, allowConfig: false, passEnv: [] },
    egress: { mode: "allowlist", allow: [], deny: [] },
    mcp: { expose: "tools", servers: new Map() },
    hooks: [],
  });
  expect(new Set(origins.values())).toEqual(new Set(["default"]));
  expect(project.skipped).toEqual([]);
});

test("every key of a file arrives, in the program's own names and units", async () => {
  await using place = makePlace();
  const { config, origins } = await loadIn(place, {
    user: `\uFEFF{
      // a comment
      "model": "corp/big", "mode": "safe",
      "providers": { "corp": { "base_url": "https://llm.corp.example/v1/?api-version=3",
        "headers": { "X-Team": " platform " }, "api_key_command": ["vault", "read", ""], "api_key_env": "CORP_KEY", "wire": "chat",
        "models": { "big": { "context_window": 200000, "max_output": 16000, "images": true,
          "price": { "input": 1.25, "cached": 0.125, "output": 10 } } } } },
      "model_defaults": { "context_window": 32000, "stream_idle": "10s" },
      "limits": { "max_turns": 5, "max_tokens": 1000, "max_cost": 2.5,
        "timeout": "10m", "idle_timeout": "1.5s", "max_command_time": "2h" },
      "compaction": { "auto": false, "at": 0.5 },
      "sandbox": { "write": ["~/notes", "/srv/data", "build", "/srv/data"], "pass_env": ["CC"],
        "read": ["~/.npmrc"], "hide": ["private", "/srv/secret"], "allow_git": true, "allow_config": true },
      "egress": { "mode": "open", "allow": ["*.example.com", "git.example.com:22"], "deny": ["x.example.com"] },
      "mcp": { "expose": "list", "servers": {
        "files": { "command": "npx", "args": ["-y", ""], "env": { "TOKEN": "\${FILES_TOKEN}" }, "cwd": "sub", "required": true,
          "enabled": false, "enabled_tools": ["read"], "disabled_tools": ["write"], "start_timeout": "1s", "call_timeout": "2m" },
        "web": { "url": "https://mcp.example.com/mcp", "headers": { "Authorization": "Bearer \${WEB_TOKEN}" },
          "headers_command": ["vault"] } } },
      "approvals": { "commands": ["npm test"] },
      "hooks": [{ "on": "tool.before", "match": "Bash|Write", "command": "./check.sh", "timeout": "5s", "required": true },
        { "on": "turn.end", "command": "notify" }],
    }`,
  });
  expect(config).toEqual({
    model: "corp/big",
    mode: "safe",
    providers: new Map([
      [
        "corp",
        {
          baseUrl: "https://llm.corp.example/v1?api-version=3",
          apiKeyEnv: "CORP_KEY",
          apiKeyCommand: ["vault", "read", ""],
          headers: new Map([["x-team", "platform"]]),
          wire: "chat",
          models: new Map([
            [
              "big",
              {
                contextWindow: 200_000,
                maxOutput: 16_000,
                images: true,
                price: { input: 1.25, cached: 0.125, output: 10 },
              },
            ],
          ]),
        },
      ],
    ]),
    modelDefaults: { contextWindow: 32_000, streamIdleMs: 10_000 },
    limits: {
      maxTurns: 5,
      maxTokens: 1000,
      maxCostUsd: 2.5,
      timeoutMs: 600_000,
      idleTimeoutMs: 1500,
      maxCommandTimeMs: 7_200_000,
    },
    compaction: { auto: false, at: 0.5 },
    approvals: { commands: ["npm test"] },
    sandbox: {
      write: [join(place.home, "notes"), "/srv/data", join(place.project, "build")],
      read: [join(place.home, ".npmrc")],
      hide: [join(place.project, "private"), "/srv/secret"],
      allowGit: true,
      allowConfig: true,
      passEnv: ["CC"],
    },
    egress: { mode: "open", allow: ["*.example.com", "git.example.com:22"], deny: ["x.example.com"] },
    mcp: {
      expose: "list",
      servers: new Map([
        [
          "files",
          {
            isProjects: false,
            transport: {
              kind: "stdio",
              command: "npx",
              args: ["-y", ""],
              env: new Map([["TOKEN", "${FILES_TOKEN}"]]),
              cwd: "sub",
            },
            required: true,
            enabled: false,
            enabledTools: ["read"],
            disabledTools: ["write"],
            startTimeoutMs: 1000,
            callTimeoutMs: 120_000,
          },
        ],
        [
          "web",
          {
            isProjects: false,
            transport: {
              kind: "http",
              url: "https://mcp.example.com/mcp",
              headers: new Map([["authorization", "Bearer ${WEB_TOKEN}"]]),
              headersCommand: ["vault"],
            },
            required: false,
            enabled: true,
            enabledTools: undefined,
            disabledTools: [],
            startTimeoutMs: 30_000,
            callTimeoutMs: 120_000,
          },
        ],
      ]),
    },
    hooks: [
      { on: "tool.before", match: /^(?:Bash|Write)$/u, command: "./check.sh", timeoutMs: 5_000, required: true },
      { on: "turn.end", command: "notify", timeoutMs: 60_000, required: false },
    ],
  });
  expect(origins.get("providers.corp.models.big.price.cached")).toBe(`user ${userFile(place)}`);
});

test("a flag outranks the environment, which outranks the project, the user and the default", async () => {
  await using place = makePlace();
  const user = { model: "user/m", mode: "safe", limits: { max_turns: 50, max_tokens: 900 } };
  const project = { mode: "plan", limits: { max_turns: 20 } };
  const env = { KODA_MODEL: "env/m" };

  const below = await loadIn(place, { user, project, env });
  expect(below.config).toMatchObject({ model: "env/m", mode: "plan", limits: { maxTurns: 20, maxTokens: 900 } });
  expect(Object.fromEntries(below.origins)).toMatchObject({
    model: "environment KODA_MODEL",
    mode: "project .koda/config.json",
    "limits.max_turns": "project .koda/config.json",
    "limits.max_tokens": `user ${userFile(place)}`,
    "limits.max_command_time": "default",
  });

  const overrides = { model: { value: "flag/m", flag: "-m" }, mode: { value: "auto", flag: "--mode" } } as const;
  const above = await loadIn(place, { env, overrides, sets: ["mode=safe", "limits.max_turns=300"] });
  expect(above.config).toMatchObject({ model: "flag/m", mode: "auto", limits: { maxTurns: 300 } });
  expect(above.origins.get("mode")).toBe("flag --mode");
  expect(above.origins.get("limits.max_turns")).toBe("flag --config");
});

test("an empty KODA_MODEL is not set", async () => {
  expect((await load({ user: { model: "a/b" }, env: { KODA_MODEL: "" } })).config.model).toBe("a/b");
});

/** A file that says nothing but this, or nothing at all. */
function saying(key: string, value: unknown): unknown {
  if (value === undefined) return {};
  return JSON.parse(
    key.split(".").reduceRight((inner, name) => `{${JSON.stringify(name)}:${inner}}`, JSON.stringify(value)),
  );
}

/** The value of a key in the program's own names, times in milliseconds. */
function valueOf({ config }: LoadedConfig, key: string): unknown {
  const names = key.split(".").map((name) => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()));
  return names.reduce((part: unknown, name) => {
    const record = part as Record<string, unknown>;
    return name in record ? record[name] : record[`${name}Ms`];
  }, config);
}

const narrowings: [what: string, key: string, user: unknown, project: unknown, value?: unknown][] = [
  ["a lower mode", "mode", "safe", "plan"],
  ["the same mode", "mode", "safe", "safe"],
  ["a smaller count", "limits.max_turns", undefined, 3],
  ["a limit where there was none", "limits.timeout", undefined, "1h", 3_600_000],
  ["a shorter time, whatever its unit", "limits.timeout", "1h", "90s", 90_000],
  ["fewer variables", "sandbox.pass_env", ["A", "B"], ["B"]],
  ["nothing of what is hidden", "sandbox.read", ["/a", "/b"], ["/b"]],
  ["no commits", "sandbox.allow_git", true, false],
  ["no commits, as before", "sandbox.allow_git", undefined, false],
  ["no change of what tools run", "sandbox.allow_config", true, false],
  ["one more hidden path", "sandbox.hide", ["/a"], ["/b"], ["/a", "/b"]],
  ["the hidden paths, but to none", "sandbox.hide", ["/a"], [], ["/a"]],
  ["a stricter network", "egress.mode", undefined, "none"],
  ["fewer hosts", "egress.allow", ["a.example", "b.example"], ["a.example"]],
  ["one more denied host", "egress.deny", ["a.example"], ["b.example"], ["a.example", "b.example"]],
  ["no writable root", "sandbox.write", ["/srv"], []],
];

test.each(narrowings)("a project file may narrow: %s", async (_, key, user, project, value = project) => {
  const loaded = await load({ user: saying(key, user), project: saying(key, project) });
  expect(valueOf(loaded, key)).toEqual(value);
  expect(loaded.project.skipped).toEqual([]);
});

const widenings: [what: string, key: string, user: unknown, project: unknown, value?: unknown][] = [
  ["a higher mode", "mode", "plan", "safe"],
  ["a larger count", "limits.max_turns", undefined, 201, 200],
  ["no limit where there was one", "limits.timeout", "1h", null, 3_600_000],
  ["a longer time", "limits.max_command_time", undefined, "301s", 300_000],
  ["one more root", "sandbox.write", undefined, ["/"], []],
  ["one more variable", "sandbox.pass_env", ["A"], ["A", "AWS_SECRET_KEY"]],
  ["one more thing to read", "sandbox.read", undefined, ["~/.ssh"], []],
  ["commits", "sandbox.allow_git", undefined, true, false],
  ["changes of what tools run", "sandbox.allow_config", undefined, true, false],
  ["a wider network", "egress.mode", undefined, "open", "allowlist"],
  ["any network, where there is none", "egress.mode", "none", "allowlist"],
  ["one more host", "egress.allow", ["a.example"], ["a.example", "evil.example"]],
  ["another model", "model", "corp/small", "corp/huge"],
  ["a provider", "providers", undefined, { openai: { base_url: "https://evil.example/v1" } }, new Map()],
  [
    "a smaller window of the user's own provider",
    "providers",
    { corp: { models: { m: { context_window: 9 } } } },
    { corp: { models: { m: { context_window: 8 } } } },
    new Map([["corp", { models: new Map([["m", { contextWindow: 9 }]]) }]]),
  ],
];

test.each(widenings)("a project file may not widen: %s", async (_, key, user, project, value = user) => {
  const loaded = await load({ user: saying(key, user), project: saying(key, project) });
  expect(loaded.project.skipped).toEqual([`.koda/config.json: ${key}`]);
  expect(valueOf(loaded, key)).toEqual(value);
});

test("a provider in a project file is named once, whatever it has", async () => {
  const openai = { base_url: "https://evil.example/v1", api_key_env: "HOME", models: { m: { images: true } } };
  const { config, project } = await load({ project: { providers: { openai } } });
  expect([config.providers.size, project.skipped]).toEqual([0, [".koda/config.json: providers"]]);
});

test.each(widenings)("a project file may widen when the project is trusted: %s", async (_, key, user, project) => {
  await using place = makePlace();
  const content = saying(key, project);
  const asUser = await loadIn(place, { user: content });
  const trusted = await loadIn(place, { user: saying(key, user), project: content, isTrusted: true });
  expect(trusted.project.skipped).toEqual([]);
  expect(valueOf(trusted, key)).toEqual(valueOf(asUser, key));
});

test("a trusted project removes no denial", async () => {
  const user = { egress: { deny: ["a.example"] }, sandbox: { hide: ["/a"] } };
  const project = { egress: { deny: ["b.example"] }, sandbox: { hide: ["/b"] } };
  const { config } = await load({ user, project, isTrusted: true });
  expect(config).toMatchObject({ egress: { deny: ["a.example", "b.example"] }, sandbox: { hide: ["/a", "/b"] } });
});

test("not even a trusted project names the program that prints a key", async () => {
  const corp = { base_url: "https://llm.example/v1", api_key_command: ["./key.sh"] };
  const { config, project } = await load({ project: { providers: { corp } }, isTrusted: true });
  expect(config.providers.get("corp")).toEqual({ baseUrl: "https://llm.example/v1", models: new Map() });
  expect(project.skipped).toEqual([".koda/config.json: providers.corp.api_key_command"]);
});

test("flags and variables have precedence over a trusted project", async () => {
  const overrides = { mode: { value: "safe", flag: "--mode" } } as const;
  const project = { mode: "auto", model: "corp/project" };
  const { config } = await load({ project, overrides, env: { KODA_MODEL: "corp/mine" }, isTrusted: true });
  expect(config).toMatchObject({ mode: "safe", model: "corp/mine" });
});

test("a project's narrowing does not bind a flag", async () => {
  const overrides = { "limits.max_turns": { value: 500, flag: "--max-turns" } } as const;
  const { config } = await load({ project: { limits: { max_turns: 2 } }, overrides });
  expect(config.limits.maxTurns).toBe(500);
});

test("--bare reads neither file, however broken they are", async () => {
  const { config, project } = await load({ user: "{", project: '{ "modle": 1 }', bare: true, sets: ["mode=safe"] });
  expect(config.mode).toBe("safe");
  expect(config.limits.maxTurns).toBe(200);
  expect(project.skipped).toEqual([]);
});

test("with KODA_HOME in the project its file is the user's, and may say everything", async () => {
  await using place = makePlace();
  const env = { KODA_HOME: join(place.project, ".koda") };
  const { config, project } = await loadIn(place, { project: { model: "a/b", limits: { max_turns: 999 } }, env });
  expect(config).toMatchObject({ model: "a/b", limits: { maxTurns: 999 } });
  expect(project.skipped).toEqual([]);
});

const refused: [content: unknown, problem: string][] = [
  [{ modle: "x" }, 'unknown key "modle" at the top level (did you mean "model"?)'],
  [{ limits: { max_turn: 1 } }, 'unknown key "max_turn" in "limits" (did you mean "max_turns"?)'],
  [
    { sandbox: { zzzzzz: 1 } },
    'unknown key "zzzzzz" in "sandbox" (the keys there are write, read, hide, allow_git, allow_config, pass_env)',
  ],
  [{ providers: { corp: { baseurl: "x" } } }, 'unknown key "baseurl" in "providers.corp" (did you mean "base_url"?)'],
  [
    { providers: { "my.corp": { models: { "m.1": { window: 1 } } } } },
    'unknown key "window" in "providers."my.corp".models."m.1"" (the keys there are context_window, max_output, images, edit, price)',
  ],
  ['{ "__proto__": { "mode": "auto" } }', 'unknown key "__proto__" at the top level'],
  [{ constructor: 1 }, 'unknown key "constructor" at the top level'],
  [[1], "the top level is [1], expected an object"],
  ["null", "the top level is null, expected an object"],
  [{ limits: [] }, '"limits" is [], expected an object'],
  [
    { mcp: { servers: { a: { env: ["TOKEN=secret"] } } } },
    '"mcp.servers.a.env" is not an object (the value is not shown',
  ],
  [
    { providers: { p: { headers: "X-Key: secret" } } },
    '"providers.p.headers" is not an object (the value is not shown',
  ],
  [{ model: "" }, '"model" is "", expected a non-empty string, or null'],
  [{ mode: "yolo" }, '"mode" is "yolo", expected one of "plan", "safe", "auto"'],
  [{ limits: { max_turns: 0 } }, '"limits.max_turns" is 0, expected a positive integer'],
  [{ limits: { max_turns: 1.5 } }, '"limits.max_turns" is 1.5, expected a positive integer'],
  [{ limits: { max_turns: null } }, '"limits.max_turns" is null, expected a positive integer'],
  [{ limits: { max_tokens: "9" } }, '"limits.max_tokens" is "9", expected a positive integer, or null'],
  [{ limits: { max_cost: 0 } }, '"limits.max_cost" is 0, expected a positive number, or null'],
  [{ limits: { max_cost: "$2" } }, '"limits.max_cost" is "$2", expected a positive number, or null'],
  [{ limits: { timeout: 30 } }, '"limits.timeout" is 30, expected a time such as "500ms", "30s", "10m" or "2h"'],
  [{ limits: { timeout: "0s" } }, '"limits.timeout" is "0s", expected a time'],
  [
    { limits: { timeout: "25d" } },
    '"limits.timeout" is "25d", expected a time such as "500ms", "30s", "10m" or "2h" (at most 24 days)',
  ],
  [{ sandbox: { write: "/srv" } }, '"sandbox.write" is "/srv", expected a list of non-empty strings'],
  [{ sandbox: { write: [1] } }, '"sandbox.write" is [1], expected a list of non-empty strings'],
  [{ providers: { p: { wire: "soap" } } }, '"providers.p.wire" is "soap", expected one of "chat", "responses"'],
  [{ providers: { "a/b": { wire: "chat" } } }, 'invalid provider name "a/b": it may not contain a slash or a space'],
  [{ providers: { p: { headers: { "a b": "x" } } } }, 'invalid header name "a b"'],
  [{ providers: { p: { headers: { Host: "x" } } } }, 'the header "Host" is set by koda itself'],
  [
    { providers: { p: { headers: { "x-key": "secret\n" } } } },
    '"providers.p.headers.x-key" is not a non-empty string of printable ASCII characters (the value is not shown',
  ],
  [
    { providers: { p: { api_key_command: "vault read key" } } },
    '"providers.p.api_key_command" is not a list of a program and its arguments',
  ],
  [{ providers: { p: { api_key_command: [] } } }, '"providers.p.api_key_command" is not a list of a program'],
  [
    { providers: { p: { models: { m: { images: 1 } } } } },
    '"providers.p.models.m.images" is 1, expected true or false',
  ],
  ['{ "model": "a" "mode": "safe" }', "1:16: expected a comma"],
  ['{ "model": "a", "model": "b" }', '1:17: duplicate key "model"'],
  ["", "1:1: expected a value"],
];

test.each(refused)("a file with %j is refused by name", async (content, problem) => {
  const { code, message } = await failureOf(load({ project: content }));
  expect(code).toBe("config");
  expect(message).toStartWith(`Cannot read config ".koda/config.json": ${problem}`);
});

test("the user's file is named by its path", async () => {
  await using place = makePlace();
  const { message } = await failureOf(loadIn(place, { user: { modle: 1 } }));
  expect(message).toStartWith(`Cannot read config "${userFile(place)}": unknown key "modle"`);
});

test("a value that may be a secret is not repeated", async () => {
  const secrets = ["sk-very-secret", "https://me:hunter2@llm.example/v1"];
  const attempts: Given[] = [
    { user: { providers: { p: { api_key_env: secrets[0] } } } },
    { user: { providers: { p: { base_url: secrets[1] } } } },
    { user: { sandbox: { pass_env: [secrets[0]] } } },
    { sets: [`providers.p.api_key_env=${secrets[0]}`] },
  ];
  for (const attempt of attempts) {
    const { message } = await failureOf(load(attempt));
    expect(message).toContain("may be a secret");
    for (const secret of secrets) expect(message).not.toContain(secret);
  }
});

test("half a price is refused, over all that was said about it", async () => {
  const user = { providers: { p: { models: { m: { price: { input: 1 } } } } } };
  const { code, message } = await failureOf(load({ user }));
  expect([code, message]).toEqual([
    "config",
    'Cannot use "providers.p.models.m.price": "output" is missing, a price needs input and output',
  ]);
  const whole = await load({ user, sets: ["providers.p.models.m.price.output=2"] });
  expect(whole.config.providers.get("p")?.models.get("m")?.price).toEqual({ input: 1, output: 2 });
});

const inThePlaceOfAFile: [what: string, put: (path: string) => void, problem: string][] = [
  ["a directory", (path) => mkdirSync(path), "it is a directory, not a file"],
  ["a named pipe", (path) => Bun.spawnSync(["mkfifo", path]), "it is a named pipe, not a file"],
  ["a link to a device", (path) => symlinkSync("/dev/zero", path), "it is a link out of the project"],
  ["a dangling link", (path) => symlinkSync("nowhere", path), "it is a broken symbolic link"],
  ["a link to itself", (path) => symlinkSync("config.json", path), "too many levels of symbolic links"],
  ["bytes that are no text", (path) => writeFileSync(path, new Uint8Array([0x7b, 0xff, 0x7d])), "it is not UTF-8"],
  ["a huge file", (path) => writeFileSync(path, " ".repeat(1024 * 1024 + 1)), "it is larger than 1 MiB"],
];

test.each(inThePlaceOfAFile)("%s in the place of a config file is refused", async (_, put, problem) => {
  await using place = makePlace();
  mkdirSync(join(place.project, ".koda"));
  put(join(place.project, projectName));
  const { code, message } = await failureOf(loadIn(place));
  expect([code, message]).toEqual(["config", `Cannot read config ".koda/config.json": ${problem}`]);
});

test("a file that may not be read is refused", async () => {
  await using place = makePlace();
  letEveryoneIn(place);
  chmodSync(place.write(projectName, "{}"), 0);
  const request = { env: {}, home: "", root: place.project, bare: false, isTrusted: false, sets: [], overrides: {} };
  const script = `
    const { loadConfig } = await import(${JSON.stringify(join(import.meta.dir, "../../lib/config/load.ts"))});
    const answer = loadConfig(input).then(() => "it loaded", ({ message }) => message);`;
  expect(await evaluateAsNobody(script, request)).toEndWith("permission denied");
});

test("a file in the place of the .koda directory is no configuration", async () => {
  await using place = makePlace({ ".koda": "" });
  expect((await loadIn(place)).config.mode).toBe("auto");
});

const sets: [set: string, key: string, value: unknown][] = [
  ["model=gpt-5.5", "model", "gpt-5.5"],
  ['model="openai/gpt"', "model", "openai/gpt"],
  ["model=a=b", "model", "a=b"],
  ["model=null", "model", null],
  ["limits.timeout=10m", "limits.timeout", "10m"],
  ['limits={"max_turns":7}', "limits.max_turns", 7],
  ['sandbox.write=["/a"]', "sandbox.write", ["/a"]],
  ["providers.my.corp.wire=chat", 'providers."my.corp".wire', "chat"],
  ['providers."x=y".wire=chat', "providers.x=y.wire", "chat"],
];

test.each(sets)("--config %s sets %s", async (set, key, value) => {
  const { display, origins } = await load({ sets: [set] });
  expect(display.get(key)).toEqual(value);
  expect(origins.get(key)).toBe("flag --config");
});

const badSets: [set: string, problem: string][] = [
  ["modle=x", 'unknown key "modle" at the top level (did you mean "model"?)'],
  ["model", '"model" is not KEY=VALUE, as in limits.max_turns=50'],
  ["=x", '"=x" is not KEY=VALUE, as in limits.max_turns=50'],
  ["mode=fast", '"mode" is "fast", expected one of "plan", "safe", "auto"'],
  ["limits.max_turns=many", '"limits.max_turns" is "many", expected a positive integer'],
  ["limits=5", '"limits" is 5, expected an object'],
  ['sandbox.write=["/a"', 'the value of "sandbox.write" is not valid JSON'],
  ["providers.corp.base_ur=x", 'unknown key "base_ur" in "providers.corp" (did you mean "base_url"?)'],
  ["__proto__.mode=auto", 'unknown key "__proto__" at the top level'],
];

test.each(badSets)("--config %s is a usage error", async (set, problem) => {
  const { code, message } = await failureOf(load({ sets: [set] }));
  expect(code).toBe("usage");
  expect(message).toStartWith(`Cannot use --config: ${problem}`);
});

test("the later --config wins, and a flag of its own wins over both", async () => {
  const sets = ["limits.max_turns=1", "limits.max_turns=2"];
  expect((await load({ sets })).config.limits.maxTurns).toBe(2);
  const overrides = { "limits.max_turns": { value: 3, flag: "--max-turns" } } as const;
  expect((await load({ sets, overrides })).config.limits.maxTurns).toBe(3);
});

test("a flag's list is added to the files', and its time may be milliseconds", async () => {
  await using place = makePlace();
  const { config, origins, display } = await loadIn(place, {
    user: { sandbox: { write: ["/a"] } },
    overrides: {
      "sandbox.write": { value: ["out"], flag: "--allow-write" },
      "sandbox.pass_env": { value: ["CC"], flag: "--allow-env" },
      "limits.timeout": { value: 90_000, flag: "--timeout" },
    },
  });
  expect(config.sandbox.write).toEqual(["/a", join(place.project, "out")]);
  expect(origins.get("sandbox.write")).toBe(`user ${userFile(place)}, flag --allow-write`);
  expect(origins.get("sandbox.pass_env")).toBe("flag --allow-env");
  expect(config.limits.timeoutMs).toBe(90_000);
  expect(display.get("limits.timeout")).toBe("90s");
});

test("what is hidden is hidden by everybody who says so", async () => {
  await using place = makePlace();
  const { config, origins } = await loadIn(place, {
    user: { sandbox: { hide: ["/a"] } },
    project: { sandbox: { hide: ["private"] } },
    overrides: {
      "sandbox.hide": { value: ["/c"], flag: "--deny-read" },
      "sandbox.allow_git": { value: true, flag: "--allow-git" },
    },
  });
  expect(config.sandbox).toMatchObject({ hide: ["/a", join(place.project, "private"), "/c"], allowGit: true });
  const project = "project .koda/config.json";
  expect(origins.get("sandbox.hide")).toBe(`user ${userFile(place)}, ${project}, flag --deny-read`);
  expect(origins.get("sandbox.allow_git")).toBe("flag --allow-git");
});

test("a flag's bad value names the flag", async () => {
  const overrides = { "limits.timeout": { value: 2 ** 31, flag: "--timeout" } } as const;
  const { code, message } = await failureOf(load({ overrides }));
  expect(code).toBe("usage");
  expect(message).toStartWith('Cannot use --timeout: "limits.timeout" is "2147483648ms", expected a time');
});

test.each(["write", "read", "hide"])("a home path without a home is an error in sandbox.%s", async (key) => {
  const { message } = await failureOf(load({ home: "", sets: [`sandbox.${key}=["~/x"]`] }));
  expect(message).toBe(`Cannot use "~/x" in "sandbox.${key}": HOME is not set`);
});

test("every value is described with its origin, as it was written", async () => {
  const lines = describeConfig(
    await load({ project: { limits: { timeout: "90s" } }, sets: ["providers.p.wire=chat"] }),
  );
  expect(lines).toContainEqual({ key: "limits.timeout", value: "90s", origin: "project .koda/config.json" });
  expect(lines).toContainEqual({ key: "model_defaults.context_window", value: 128_000, origin: "default" });
  expect(lines).toContainEqual({ key: "providers.p.wire", value: "chat", origin: "flag --config" });
});

test("a run without a file loads no parser", async () => {
  await using place = makePlace();
  const program = `
    const { loadConfig } = await import(${JSON.stringify(join(import.meta.dir, "../../lib/config/load.ts"))});
    const root = ${JSON.stringify(place.project)};
    await loadConfig({ env: {}, home: root, root, bare: false, isTrusted: false, sets: ["mode=safe"], overrides: {} });
    const heavy = () => Object.keys(require.cache).filter((path) => /jsonc-parser|zod/.test(path)).length;
    const before = heavy();
    await Bun.write(root + "/.koda/config.json", "{}");
    await loadConfig({ env: {}, home: root, root, bare: false, isTrusted: false, sets: [], overrides: {} });
    console.log(before, heavy() > 0);
  `;
  const { stdout } = Bun.spawnSync([process.execPath, "-e", program], { cwd: place.project, env: place.env });
  expect(stdout.toString()).toBe("0 true\n");
});
