import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { describeConfig } from "../../lib/config/describe.ts";
import { loadConfig } from "../../lib/config/load.ts";
import { isPrintable } from "../../lib/config/overrides.ts";
import { failureOf } from "../support/failure.ts";
import { configure, makePlace } from "../support/place.ts";

type Given = { user?: unknown; project?: unknown; isTrusted?: boolean; sets?: readonly string[] };

async function load({ user, project, ...request }: Given) {
  await using place = makePlace();
  if (user !== undefined) configure(place, { hooks: user });
  if (project !== undefined) place.write(".koda/config.json", JSON.stringify({ hooks: project }));
  const standing = { env: {}, home: place.home, root: place.project, bare: false, isTrusted: false, overrides: {} };
  return await loadConfig({ ...standing, sets: [], ...request });
}

const stop = { on: "stop", command: "true" };
const example = 'as in [{"on": "tool.before", "match": "Bash", "command": "./check.sh"}]';
const moments = '"session.start", "prompt", "tool.before", "tool.after", "stop", "turn.end", "session.end"';

const refused: [hooks: unknown, problem: string][] = [
  [{ on: "stop" }, `"hooks" is {"on":"stop"}, expected a list of hooks, ${example}`],
  [null, `"hooks" is null, expected a list of hooks, ${example}`],
  [["./check.sh"], '"hooks[0]" is "./check.sh", expected an object'],
  [[stop, { command: "true" }], `"hooks[1].on" is missing, expected one of ${moments}`],
  [[{ on: "stop" }], '"hooks[0].command" is missing, expected a command for the shell'],
  [[{ ...stop, on: "tool.befor" }], `is "tool.befor", expected one of ${moments} (did you mean "tool.before"?)`],
  [[{ ...stop, command: " " }], '"hooks[0].command" is " ", expected a command for the shell'],
  [[{ ...stop, command: "a\0b" }], '"hooks[0].command" is "a\\u0000b", expected a command for the shell'],
  [[{ ...stop, comand: "x" }], 'unknown key "comand" in "hooks[0]" (did you mean "command"?)'],
  [[{ ...stop, timeout: 5 }], '"hooks[0].timeout" is 5, expected a time such as "500ms"'],
  [[{ ...stop, timeout: "0" }], '"hooks[0].timeout" is "0", expected a time such as "500ms"'],
  [[{ ...stop, required: "yes" }], '"hooks[0].required" is "yes", expected true or false'],
  [[{ ...stop, match: "Bash" }], '"hooks[0].match" has no use in a hook on "stop"'],
  ...["(", "", "a)|(b", "[z-a]"].map((match): [unknown, string] => [
    [{ on: "tool.before", match, command: "true" }],
    `"hooks[0].match" is "${match}", expected a regular expression for whole names of tools`,
  ]),
];

test.each(refused)("a hook that is not right is an error that names its place: %j", async (hooks, problem) => {
  const user = await failureOf(load({ user: hooks }));
  expect([user.code, user.message]).toEqual(["config", expect.stringContaining(problem)]);
  expect(user.message).toMatch(/^Cannot read config ".*\.config\/koda\/config\.json": /);
  const project = await failureOf(load({ project: hooks }));
  expect(project.message).toContain(`Cannot read config ".koda/config.json": `);
  const flag = await failureOf(load({ sets: [`hooks=${JSON.stringify(hooks)}`] }));
  expect([flag.code, flag.message]).toEqual(["usage", expect.stringContaining(problem)]);
});

test("a match is for whole names", async () => {
  const { config } = await load({ user: [{ on: "tool.after", match: "Edit|files__.*", command: "true" }] });
  const matches = (name: string) => config.hooks[0]?.match?.test(name);
  expect(["Edit", "files__read"].map(matches)).toEqual([true, true]);
  expect(["MultiEdit", "Edits", "Xfiles__read", "Edit\n"].map(matches)).toEqual([false, false, false, false]);
});

test("a project's hooks need its trust, and then come after the user's", async () => {
  const project = [{ on: "stop", command: "theirs" }];
  const commands = ({ config }: Awaited<ReturnType<typeof load>>) => config.hooks.map(({ command }) => command);
  const untrusted = await load({ user: [stop], project });
  expect([commands(untrusted), untrusted.project.skipped]).toEqual([["true"], [".koda/config.json: hooks"]]);
  expect((await load({ project: [] })).project.skipped).toEqual([".koda/config.json: hooks"]);
  const trusted = await load({ user: [stop], project, isTrusted: true });
  expect([commands(trusted), trusted.project.skipped]).toEqual([["true", "theirs"], []]);
  expect(trusted.origins.get("hooks")).toMatch(/^user \/.*, project \.koda\/config\.json$/);
  expect(commands(await load({ user: [stop], project: [], isTrusted: true }))).toEqual(["true"]);
});

test("a key in a command is not shown, and a hook with one is not printed", async () => {
  const command = "curl -H 'authorization: Bearer sk-proj-abcdef123456' https://ci.example";
  const shown = describeConfig(await load({ user: [{ ...stop, command }] })).find(({ key }) => key === "hooks");
  expect(shown?.value).toEqual([{ ...stop, command: "curl -H 'authorization: [key]' https://ci.example" }]);
  const isPrinted = (hook: unknown) => isPrintable(`hooks=${JSON.stringify([hook])}`);
  expect([stop, { ...stop, command }].map(isPrinted)).toEqual([true, false]);
});

test("the examples of the page can be used as they stand", async () => {
  const examples = [...readFileSync("docs/hooks.md", "utf8").matchAll(/```jsonc\n([\s\S]*?)```/g)];
  expect(examples).toHaveLength(3);
  for (const [, example = ""] of examples) {
    await using place = makePlace();
    configure(place, example);
    const standing = { env: {}, home: place.home, root: place.project, bare: false, isTrusted: false, overrides: {} };
    const { config } = await loadConfig({ ...standing, sets: [] });
    expect(config.hooks.length).toBeGreaterThan(0);
  }
});
