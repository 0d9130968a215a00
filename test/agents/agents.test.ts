import { describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Agents, builtInAgents, findAgents } from "../../lib/agents/agents.ts";
import { ProjectTrust } from "../../lib/config/trust.ts";
import { systemOf } from "../../lib/conversation/child.ts";
import { agentToolNames } from "../../lib/conversation/definitions.ts";
import { builtInTools } from "../../lib/tools/registry.ts";
import { makePlace, type Place } from "../support/place.ts";

const project = ".koda/agents";

/** The file of an agent. */
function agent(name: string, { about = `About ${name}.`, fields = "", body = `Be ${name}.` } = {}): string {
  return `---\nname: ${name}\ndescription: ${about}\n${fields}---\n\n${body}\n`;
}

/** Puts a file into the directory of the user's configuration, or into that of a plugin. */
function keep({ home }: Place, path: string, text: string): string {
  const target = join(home, "config", path);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, text);
  return target;
}

function find({ project: root, home }: Place, { trust = new ProjectTrust(true), plugins = ["corp"] } = {}): Agents {
  const configDirectory = join(home, "config");
  const from = plugins.map((name) => ({ scope: "user" as const, directory: join(configDirectory, "plugins", name) }));
  return findAgents({ root, home, configDirectory, trust, hide: [], plugins: from, tools: agentToolNames });
}

/** The definition in a project's only file, or the notice about it. */
async function read(text: string | Uint8Array, file = "one.md") {
  await using place = makePlace({ [`${project}/${file}`]: text });
  const { byName, notices } = find(place);
  return { one: byName.get("one"), notices, names: [...byName.keys()] };
}

const builtIn = ["explore", "plan", "review", "task"];
const shown = `${project}/one.md`;
const hash = expect.stringMatching(/^[0-9a-f]{64}$/);

test("a file is an agent, with its body as the system prompt", async () => {
  const fields = "model: corp/big\nmode: safe\ntools: [Read, Grep]\nmax_turns: 7\n";
  const text = agent("one", { about: "'Use it: here.'", fields, body: "Do this.\n\n---\n\nThen that." });
  const { one, notices } = await read(text);
  expect(notices).toEqual([]);
  expect(one).toEqual({
    name: "one",
    description: "Use it: here.",
    scope: "project",
    prompt: "Do this.\n\n---\n\nThen that.",
    model: "corp/big",
    mode: "safe",
    tools: ["Read", "Grep"],
    maxTurns: 7,
    hash,
    shown,
  });
});

test("without optional fields there are none, and a description is one line", async () => {
  const { one, notices } = await read(agent("one", { about: ">\n  first\n  second" }));
  expect({ one, notices }).toEqual({
    one: { name: "one", description: "first second", scope: "project", prompt: "Be one.", hash, shown },
    notices: [],
  });
});

const lists: readonly [field: string, tools: readonly string[]][] = [
  ["Read Grep", ["Read", "Grep"]],
  ["Read, Grep,Glob", ["Read", "Grep", "Glob"]],
  ["[Read, Read]", ["Read"]],
  ["\n  - Read\n  - files__read_file", ["Read", "files__read_file"]],
  ["github__*, McpRead, Skill", ["github__*", "McpRead", "Skill"]],
  ["[]", []],
  ['""', []],
];

test.each(lists)("tools: %s", async (field, tools) => {
  const { one, notices } = await read(agent("one", { fields: `tools: ${field}\n` }));
  expect([one?.tools, notices]).toEqual([tools, []]);
});

/** The reason follows the file's name. */
const broken: readonly (readonly [name: string, text: string | Uint8Array, reason: string])[] = [
  ["no front matter", "Be one.", '"name" is missing, expected "one" like its file'],
  ["no end of it", "---\nname: one\n", 'its front matter does not end, expected a line "---"'],
  ["no YAML", "---\nname: one\ndescription: [a\n---\nBe.", "line 3: invalid YAML"],
  ["another name", agent("two"), '"name" is "two", expected "one" like its file'],
  ["a name that is a number", agent("1"), '"name" is 1, expected "one" like its file'],
  ["no description", "---\nname: one\n---\nBe.", '"description" is missing, expected when to use the agent'],
  ["an empty description", agent("one", { about: '" "' }), '"description" is " "'],
  ["a list for a description", agent("one", { about: "[a]" }), '"description" is a list'],
  ["a description of 1025", agent("one", { about: "x".repeat(1025) }), '"description" is longer than 1024 characters'],
  ["no body", agent("one", { body: " " }), "there is no text below its front matter"],
  ["65 KiB", agent("one", { body: "x".repeat(65 * 1024) }), "it is larger than 64 KiB"],
  ["zeros", "---\nname: one\0\n", "it is not text"],
  ["other bytes", new Uint8Array([0x2d, 0xff, 0xfe]), "it is not UTF-8"],
];

/** A line of the front matter, and why it is refused. */
const wrongFields: readonly (readonly [line: string, reason: string])[] = [
  ["mode: paln", '"mode" is "paln", expected plan, safe or auto'],
  ["mode: PLAN", '"mode" is "PLAN", expected plan, safe or auto'],
  ["mode:", '"mode" is empty, expected plan, safe or auto'],
  ["mode: [plan]", '"mode" is a list'],
  ["tools:", '"tools" is empty, expected names of tools'],
  ["tools: 1", '"tools" is 1'],
  ["tools: {Read: true}", '"tools" is a mapping'],
  ["tools: [Read, 1]", '"tools" is a list, expected names of tools'],
  ["max_turns:", '"max_turns" is empty, expected a positive integer'],
  ["max_turns: 0", '"max_turns" is 0, expected a positive integer'],
  ["max_turns: -1", '"max_turns" is -1'],
  ["max_turns: 1.5", '"max_turns" is 1.5'],
  ["max_turns: '5'", '"max_turns" is "5"'],
  ["max_turns: 1e300", '"max_turns" is 1e+300'],
  ["max_turns: .inf", '"max_turns" is '],
  ["model:", '"model" is empty, expected a model, as -m takes it'],
  ["model: ''", '"model" is ""'],
  ["mod: plan", 'unknown key "mod" in its front matter (did you mean "mode"?)'],
  ["Mode: plan", 'unknown key "Mode" in its front matter (did you mean "mode"?)'],
  ["tool: Read", 'unknown key "tool" in its front matter (did you mean "tools"?)'],
  ["toosl: Read", 'unknown key "toosl" in its front matter (did you mean "tools"?)'],
  ["max-turns: 5", 'unknown key "max-turns" in its front matter (did you mean "max_turns"?)'],
  ["maxTurns: 5", 'unknown key "maxTurns" in its front matter (did you mean "max_turns"?)'],
  ["disallowedTools: Bash", 'unknown key "disallowedTools" in its front matter (the keys there are name, '],
  ["allowed-tools: Read", 'unknown key "allowed-tools" in its front matter (the keys there are name, '],
  ["permissionMode: plan", 'unknown key "permissionMode" in its front matter (the keys there are name, '],
  ["modle: x", 'unknown key "modle" in its front matter (did you mean "model"?)'],
];

const wrong = [
  ...broken,
  ...wrongFields.map(([line, why]) => [line, agent("one", { fields: `${line}\n` }), why] as const),
];

test.each(wrong)("a file with %s is not loaded, and a notice says why", async (_, text, reason) => {
  const { names, notices } = await read(text);
  expect(names).toEqual(builtIn);
  expect(notices).toEqual([expect.stringContaining(reason)]);
  expect(notices[0]).toStartWith(`The agent "${shown}" is not loaded: `);
});

const names = ["One.md", "a b.md", "one--two.md", "a_b.md", `${"x".repeat(65)}.md`, ".md"];

test.each(names)("%s is no file of an agent", async (file) => {
  const { names: found, notices } = await read(agent(file.slice(0, -3)), file);
  expect(found).toEqual(builtIn);
  // A hidden file is none at all.
  expect(notices).toHaveLength(file === ".md" ? 0 : 1);
  for (const notice of notices) expect(notice).toContain("expected at most 64 lower-case letters");
});

test("fork is no name for one", async () => {
  const { names: found, notices } = await read(agent("fork"), "fork.md");
  expect(found).toEqual(builtIn);
  expect(notices).toEqual([`The agent "${project}/fork.md" is not loaded: the name "fork" is reserved`]);
});

/** Mistakes that make an agent no wider than it was meant. */
const harmless: readonly [line: string, notice: string][] = [
  ["descripton: x", 'unknown key "descripton" in its front matter (did you mean "description"?)'],
  ["color: blue", 'unknown key "color" in its front matter (the keys there are name, description, model, mode, tools'],
  ["tools: Raed Grep", 'unknown tool "Raed" in "tools" (did you mean "Read"?)'],
  ["tools: bash", 'unknown tool "bash" in "tools" (did you mean "Bash"?)'],
  [
    "tools: Bash(git:*)",
    'unknown tool "Bash(git:*)" in "tools" (patterns for commands are not possible here: write "Bash")',
  ],
  ['tools: "*"', 'unknown tool "*" in "tools"'],
  ["tools: __x", 'unknown tool "__x" in "tools"'],
];

test.each(harmless)("a file with %s is loaded, with a notice", async (line, notice) => {
  const { one, notices } = await read(agent("one", { fields: `${line}\n` }));
  expect(one?.tools?.join(" ")).toBe(line.startsWith("tools: ") ? line.slice(7).replaceAll('"', "") : undefined);
  expect(notices).toEqual([expect.stringContaining(`The agent "${shown}" has a mistake: ${notice}`)]);
});

describe("of agents with the same name", () => {
  test("the project's counts, then the user's, a plugin's, and a built-in one", async () => {
    await using place = makePlace({ [`${project}/a.md`]: agent("a", { body: "The project's." }) });
    const users = ["a", "b"].map((name) => keep(place, `agents/${name}.md`, agent(name, { body: "The user's." })));
    for (const name of ["a", "b", "plan"])
      keep(place, `plugins/corp/agents/${name}.md`, agent(name, { body: "The plugin's." }));
    const { byName, notices } = find(place);
    expect(notices).toEqual([]);
    expect([...byName.keys()].sort()).toEqual(["a", "b", ...builtIn]);
    const found = ["a", "b", "plan", "task"].map((name) => byName.get(name));
    expect(found).toMatchObject([
      { scope: "project", prompt: "The project's.", shown: `${project}/a.md` },
      { scope: "user", prompt: "The user's.", shown: users[1] },
      { scope: "user", prompt: "The plugin's.", shown: join(place.home, "config/plugins/corp/agents/plan.md") },
      { scope: "built-in" },
    ]);
  });

  test("a broken one leaves its name to no other, which might do what it was meant to forbid", async () => {
    await using place = makePlace({ [`${project}/a.md`]: agent("a", { fields: "mod: plan\n" }) });
    keep(place, "agents/a.md", agent("a"));
    keep(place, "agents/task.md", agent("task", { fields: "tool: Read\n" }));
    const { byName, notices } = find(place);
    expect([...byName.keys()]).toEqual(["explore", "plan", "review"]);
    expect(notices).toHaveLength(2);
  });
});

test("the files of a project that is not trusted are named and not read", async () => {
  await using place = makePlace({ [`${project}/a.md`]: agent("a"), [`${project}/plan.md`]: "broken" });
  const trust = new ProjectTrust(false);
  const { byName, notices } = find(place, { trust });
  expect([[...byName.keys()], notices]).toEqual([builtIn, []]);
  expect(trust.skipped).toEqual([`${project}/a.md`, `${project}/plan.md`]);
});

test("a project's file that is a link out of it is not read", async () => {
  await using place = makePlace({ [`${project}/b.md`]: agent("b") });
  symlinkSync(keep(place, "elsewhere.md", agent("a")), join(place.project, project, "a.md"));
  const { byName, notices } = find(place);
  expect([...byName.keys()]).toEqual([...builtIn, "b"]);
  expect(notices).toEqual([`The agent "${project}/a.md" is not loaded: it is a link out of the project`]);
});

test("any change of a definition is another hash", async () => {
  const fields = ["", "mode: plan\n", "tools: Read\n", "max_turns: 3\n", "model: x\n"];
  const files = [...fields.map((line) => agent("one", { fields: line })), agent("one", { body: "Be other." })];
  const hashes = await Promise.all(files.map(async (text) => (await read(text)).one?.hash));
  expect(new Set(hashes).size).toBe(files.length);
  expect((await read(agent("one"))).one?.hash).toBe(hashes[0] ?? "");
});

describe("the built-in agents", () => {
  test("are these, without a mistake", () => {
    expect([...builtInAgents.byName.keys()]).toEqual(builtIn);
    expect(builtInAgents.notices).toEqual([]);
    const hashes = [...builtInAgents.byName.values()].map((each) => each.hash);
    expect(new Set(hashes).size).toBe(builtIn.length);
  });

  test("name tools that exist, and only task has all of them and may write", () => {
    const existing = builtInTools.map(({ name }) => name);
    for (const { name, mode, tools } of builtInAgents.byName.values()) {
      expect([name, mode, tools === undefined]).toEqual(
        name === "task" ? [name, undefined, true] : [name, "plan", false],
      );
      expect(existing).toEqual(expect.arrayContaining([...(tools ?? [])]));
    }
  });

  test("are told how to answer, in few words, and once what holds for every agent", () => {
    const rules = /final answer|denied call|instructions to you|no one to ask|saw it work|not yours/g;
    for (const definition of builtInAgents.byName.values()) {
      expect(definition.prompt).toMatch(/\b(your|the) answer\b/i);
      expect(systemOf(definition).split(/\s+/).length).toBeLessThanOrEqual(300);
      const all = systemOf(definition).match(rules) ?? [];
      expect(all).toHaveLength(new Set(all).size);
      expect(new Set(all).size).toBe(6);
    }
  });
});
