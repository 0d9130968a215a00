import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { DoctorCheck } from "../../cmd/checks.ts";
import { configure, makePlace, type Place } from "../support/place.ts";
import { runIn } from "../support/run.ts";
import { kodaFromSource } from "../support/source.ts";

async function diagnose(place: Place, env: Record<string, string> = {}) {
  const { stdout, exit } = await kodaFromSource(place, ["doctor", "--json"], env);
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: DoctorCheck[] };
  expect(exit, "the exit code says what the report says").toBe(ok ? 0 : 1);
  const find = (name: string) => checks.find((check) => check.name === name);
  return { ok, checks, find };
}

/** Without auto mode the sandbox may be missing. */
const careful = { ".koda/config.json": JSON.stringify({ mode: "plan" }) };
const key = { OPENAI_API_KEY: "sk-very-secret" };

test("where a run would begin everything is well, and exit 0", async () => {
  await using place = makePlace(careful);
  const { ok, checks, find } = await diagnose(place, key);
  expect(ok).toBe(true);
  expect(checks.map(({ name }) => name)).toEqual([
    "configuration",
    "instructions",
    "skills",
    "prompts",
    "agents",
    "plugins",
    "MCP servers",
    "hooks",
    "database",
    "model",
    "sandbox",
    "egress",
    "temporary files",
    "git",
    "shell",
    "search",
  ]);
  expect(find("model")).toEqual({ name: "model", status: "ok", message: "openai/gpt-6-sol, key from OPENAI_API_KEY" });
  expect(find("configuration")?.message).toBe(join(place.project, ".koda/config.json"));
});

test("the sandbox is told with what it misses and does not hold, for people and for scripts", async () => {
  await using place = makePlace();
  const { find } = await diagnose(place, key);
  const { status, message = "", backend = "", missed = [], notes = [] } = find("sandbox") ?? {};
  expect(message.split("\n")[0]).toStartWith(`${backend}: `);
  expect(status).toBe(backend === "none" ? "fail" : missed.length + notes.length > 0 ? "warn" : "ok");
  for (const part of [...notes, ...missed.map(({ reason }) => reason)]) expect(message).toContain(part);
});

test("it changes nothing", async () => {
  await using place = makePlace(careful);
  const { find } = await diagnose(place, key);
  expect(find("database")?.message).toEndWith("koda.db (created by the first run)");
  // The runtime's own cache, which only a run from source has.
  expect(readdirSync(place.home).filter((name) => name !== ".bun")).toEqual([]);
  expect(readdirSync(place.project)).toEqual([".koda"]);
});

test("for people it is a line a check, with what to do below it", async () => {
  await using place = makePlace(careful);
  place.write("none", "");
  const { stdout } = await kodaFromSource(place, ["doctor"], { ...key, PATH: join(place.project, "none") });
  expect(stdout).toMatch(/^✓ model {11}openai\/gpt-6-sol, key from OPENAI_API_KEY$/m);
  expect(stdout).toMatch(/^! git {13}not found: .*\n {18}fix: install git$/m);
  expect(stdout).toMatch(/\n\n! A run works here; see .*\bgit\b.*\n$/);
  expect(stdout).not.toContain("\u001b");
});

describe("what would keep a run from beginning is told, with exit 1", () => {
  const at = (place: Place, path: string) => join(place.project, path);
  const rows: readonly [name: string, env: (place: Place) => Record<string, string>, check: string, message: string][] =
    [
      [
        "a key is missing",
        () => ({ OPENAI_API_KEY: "", KODA_MODEL: "anthropic/claude-sonnet-4-5" }),
        "model",
        "ANTHROPIC_API_KEY",
      ],
      ["the model is nobody's", () => ({ KODA_MODEL: "opnai/gpt-5.5" }), "model", "openai/gpt-5.5"],
      ["the configuration is broken", (p) => ({ KODA_HOME: at(p, "broken") }), "configuration", '"modle"'],
      ["the place of the database is relative", () => ({ KODA_HOME: "here" }), "database", 'KODA_HOME "here"'],
      ["the database cannot be made", (p) => ({ KODA_HOME: at(p, "file/below") }), "database", "Cannot create"],
      ["the database is damaged", (p) => ({ KODA_HOME: at(p, "home") }), "database", "not a SQLite database"],
      ["there is no room for temporary files", (p) => ({ TMPDIR: at(p, "missing") }), "temporary files", "ENOENT"],
    ];
  for (const [name, env, check, message] of rows)
    test(name, async () => {
      const database = "this is no database, and long enough to be looked at as one".repeat(99);
      await using place = makePlace({ file: "", "broken/config.json": '{"modle": "x"}', "home/koda.db": database });
      const { find, checks } = await diagnose(place, { ...key, ...env(place) });
      expect(find(check)).toMatchObject({ status: "fail" });
      expect(find(check)?.message).toContain(message);
      expect(checks.length).toBeGreaterThanOrEqual(8);
    });
});

test("one fault is told once, and the other checks refer to it", async () => {
  await using place = makePlace();
  const { stdout } = await kodaFromSource(place, ["doctor"], { ...key, ALL_PROXY: "gopher://x" });
  expect(stdout.split("is not the URL of a proxy")).toHaveLength(2);
  expect(stdout).toMatch(/^✗ egress {10}not checked: see sandbox$/m);
  expect(stdout).toEndWith("\n✗ A run would fail here: see sandbox, egress\n");
});

test("what the project asked for and did not get is a warning", async () => {
  await using place = makePlace({ ".koda/config.json": JSON.stringify({ mode: "plan", model: "x/y" }) });
  const { checks, ok } = await diagnose(place, key);
  expect(ok).toBe(true);
  expect(checks.filter(({ status, name }) => status === "warn" && name === "configuration")).toMatchObject([
    { message: 'Ignored "model" in .koda/config.json: without --trust-project a project can only tighten settings' },
  ]);
});

test("instructions, skills and prompts are listed with scope, path and mistakes", async () => {
  const skill = (name: string) => `---\nname: ${name}\ndescription: d\n---\n`;
  await using place = makePlace({
    "AGENTS.md": "Be brief.",
    ".agents/skills/good/SKILL.md": skill("good"),
    ".agents/skills/bad/SKILL.md": skill("worse"),
    ".koda/prompts/review.md": "Review.",
    ".koda/prompts/empty.md": "",
  });
  const at = (path: string) => join(place.project, path);
  const flags = ["doctor", "--json", "--trust-project"];
  const { checks } = JSON.parse((await kodaFromSource(place, flags, key)).stdout) as { checks: DoctorCheck[] };
  const wanted = ["instructions", "skills", "prompts"];
  const good = { name: "good", scope: "project" as const, path: at(".agents/skills/good/SKILL.md") };
  const review = { name: "review", scope: "project" as const, path: at(".koda/prompts/review.md") };
  expect(checks.filter(({ name }) => wanted.includes(name))).toEqual([
    { name: "instructions", status: "ok", message: at("AGENTS.md") },
    { name: "skills", status: "ok", message: `good (project: ${good.path})`, files: [good] },
    { name: "skills", status: "warn", message: expect.stringContaining('".agents/skills/bad/SKILL.md" is not loaded') },
    { name: "prompts", status: "ok", message: `review (project: ${review.path})`, files: [review] },
    { name: "prompts", status: "warn", message: expect.stringContaining('".koda/prompts/empty.md" cannot be used') },
  ]);

  const { find } = await diagnose(place, key);
  expect(find("skills")).toEqual({ name: "skills", status: "ok", message: "none", files: [] });
  const { stdout } = await kodaFromSource(place, ["doctor"], key);
  expect(stdout).toContain("Ignored .agents/skills/good: it needs --trust-project");
});

test("a hook for a tool that does not exist is named, as in a run", async () => {
  await using place = makePlace();
  configure(place, { hooks: [{ on: "tool.before", match: "bash|Read", command: "./check" }] });
  const { checks } = await diagnose(place, key);
  expect(checks.filter(({ name, status }) => name === "hooks" && status === "warn")).toEqual([
    {
      name: "hooks",
      status: "warn",
      message:
        'The hook "./check" (tool.before) may not run when it should: no tool is called "bash" (did you mean "Bash"?)',
    },
  ]);
});

test("MCP servers and hooks are listed with the file they come from, and none of them is started", async () => {
  const own = { mcp: { servers: { own: { command: "touch", args: ["started", "--token=sk-very-secret"] } } } };
  const hooks = [{ on: "tool.before", match: "Bash|Write", command: "touch started" }];
  await using place = makePlace({
    ".mcp.json": JSON.stringify({ mcpServers: { shared: { type: "http", url: "https://mcp.example.com/mcp" } } }),
    ".koda/config.json": JSON.stringify({ mode: "plan", hooks: [{ on: "stop", command: "touch started" }] }),
  });
  const user = `user ${configure(place, { ...own, hooks })}`;
  const { find, checks } = await diagnose(place, key);
  const server = { name: "own", transport: "stdio", target: "touch started --token=[key]", origin: user };
  expect(find("MCP servers")).toMatchObject({ status: "ok", servers: [server] });
  const hook = { on: "tool.before", match: "Bash|Write", command: "touch started", required: false, origin: user };
  expect(find("hooks")).toMatchObject({ status: "ok", hooks: [hook] });
  const warnings = checks.filter(({ status }) => status === "warn").map(({ name, message }) => `${name}: ${message}`);
  expect(warnings).toEqual(
    expect.arrayContaining([
      "MCP servers: Ignored the MCP servers in .mcp.json, which need --trust-project: shared",
      'hooks: Ignored "hooks" in .koda/config.json: without --trust-project a project can only tighten settings',
    ]),
  );

  const { stdout } = await kodaFromSource(place, ["doctor", "--trust-project"], key);
  expect(stdout).toContain(`own: touch started --token=[key] (${user})`);
  expect(stdout).toContain("shared: https://mcp.example.com/mcp (project .mcp.json)");
  expect(stdout).toContain("koda mcp check starts each and counts its tools");
  expect(stdout).toContain(`tool.before Bash|Write: touch started (${user}, project .koda/config.json)`);
  expect(stdout).toContain(`stop: touch started (${user}, project .koda/config.json)`);
  expect(readdirSync(place.project)).not.toContain("started");
});

test("agents are listed, those that are built in too, with files, scopes and mistakes", async () => {
  const agent = (name: string, fields = "") => `---\nname: ${name}\ndescription: d\n${fields}---\nDo it.\n`;
  await using place = makePlace({
    ".koda/agents/release.md": agent("release", "tools: Raed\n"),
    ".koda/agents/plan.md": agent("plan"),
    ".koda/agents/bad.md": agent("bad", "mod: plan\n"),
  });
  const told = async (...flags: string[]) => {
    const { stdout } = await kodaFromSource(place, ["doctor", "--json", ...flags], key);
    const { checks } = JSON.parse(stdout) as { checks: DoctorCheck[] };
    return checks.flatMap(({ name, ...check }) => (name === "agents" ? [check] : []));
  };
  const [plan, release] = ["plan", "release"].map((name) => {
    return { name, scope: "project" as const, path: join(place.project, `.koda/agents/${name}.md`) };
  });
  const builtIn = (...names: string[]) => names.map((name) => `${name} (built in)`);
  expect(await told("--trust-project")).toMatchObject([
    {
      status: "ok",
      message: [
        `plan (project: ${plan?.path})`,
        `release (project: ${release?.path})`,
        ...builtIn("explore", "review", "task"),
      ].join("\n"),
      files: [plan, release],
    },
    { status: "warn", message: expect.stringContaining('".koda/agents/bad.md" is not loaded: unknown key "mod"') },
    { status: "warn", message: expect.stringContaining('unknown tool "Raed" in "tools" (did you mean "Read"?)') },
  ]);
  expect(await told()).toMatchObject([
    { status: "ok", message: builtIn("explore", "plan", "review", "task").join("\n"), files: [] },
    ...["bad", "plan", "release"].map((name) => {
      return { status: "warn", message: `Ignored .koda/agents/${name}.md: it needs --trust-project` };
    }),
  ]);
});

test("with --trust-project the checks are those of a run with it", async () => {
  await using place = makePlace({ ".koda/config.json": JSON.stringify({ limits: { max_turns: 500 } }) });
  const shown = async (...flags: string[]) =>
    (await kodaFromSource(place, ["doctor", "--config", ...flags], key)).stdout;
  expect(await shown()).toMatch(/^limits\.max_turns +200 +default$/m);
  expect(await shown("--trust-project")).toMatch(/^limits\.max_turns +500 +project \.koda\/config\.json$/m);
});

test("a key is never shown", async () => {
  await using place = makePlace(careful);
  for (const flags of [[], ["--json"], ["--config"], ["--config", "--json"]]) {
    const { stdout, stderr } = await kodaFromSource(place, ["doctor", ...flags], key);
    expect(stdout).not.toBe("");
    expect(stdout + stderr).not.toContain("sk-very-secret");
  }
});

test("--config shows each value and where it comes from", async () => {
  await using place = makePlace(careful);
  place.write("home/config.json", JSON.stringify({ limits: { max_turns: 7 } }));
  const env = { KODA_MODEL: "corp/big", KODA_HOME: join(place.project, "home") };
  const { stdout, exit } = await kodaFromSource(place, ["doctor", "--config"], env);
  expect(exit).toBe(0);
  expect(stdout).toMatch(/^model +"corp\/big" +environment KODA_MODEL$/m);
  expect(stdout).toMatch(/^mode +"plan" +project .koda\/config.json$/m);
  expect(stdout).toMatch(new RegExp(`^limits.max_turns +7 +user ${place.project}/home/config.json$`, "m"));
  expect(stdout).toMatch(/^limits.timeout +null +default$/m);

  const { stdout: json } = await kodaFromSource(place, ["doctor", "--config", "--json"], env);
  expect(JSON.parse(json)).toContainEqual({
    key: "limits.max_turns",
    value: 7,
    origin: `user ${place.project}/home/config.json`,
  });
});

test("--config shows which variables give a provider its address and its key", async () => {
  await using place = makePlace(careful);
  const address = "http://user:pass@127.0.0.1:9/v1?token=query-secret&api-version=3";
  const env = { ...key, OPENAI_BASE_URL: address, KODA_HOME: join(place.project, "home") };
  place.write("home/config.json", JSON.stringify({ providers: { groq: { api_key_env: "GROQ_KEY" } } }));
  const { stdout } = await kodaFromSource(place, ["doctor", "--config", "--json"], { ...env, GROQ_KEY: "gsk-secret" });
  const lines = JSON.parse(stdout) as { key: string }[];
  for (const [name, value, variable] of [
    ["openai.base_url", "http://127.0.0.1:9/v1?api-version=3", "OPENAI_BASE_URL"],
    ["openai.api_key_env", "OPENAI_API_KEY", "OPENAI_API_KEY"],
  ])
    expect(lines.filter((line) => line.key === `providers.${name}`)).toEqual([
      { key: `providers.${name}`, value, origin: `environment ${variable}` } as { key: string },
    ]);
  const groq = {
    key: "providers.groq.api_key_env",
    value: "GROQ_KEY",
    origin: `user ${place.project}/home/config.json`,
  };
  expect(lines).toContainEqual(groq);
  expect(lines.some((line) => line.key.startsWith("providers.xai"))).toBe(false);
  expect(stdout).not.toMatch(/pass@|query-secret|gsk-secret|sk-very-secret/);
});

test("a directory that is gone is a usage error, not a defect", async () => {
  await using place = makePlace();
  const line = `mkdir gone && cd gone && rmdir "$PWD" && exec "$0" "$1" doctor`;
  const argv = ["sh", "-c", line, process.execPath, join(import.meta.dir, "../../cmd/main.ts")];
  const { exit, stderr } = await runIn(place, argv);
  expect(stderr).toContain("Cannot work in the current directory");
  expect(exit).toBe(2);
});
