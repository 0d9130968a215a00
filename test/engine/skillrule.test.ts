import { describe, expect, test } from "bun:test";
import { skillRule } from "../../lib/engine/skillrule.ts";

async function isAllowed(allowed: string, tool: string, command?: string): Promise<boolean> {
  const input = command === undefined ? {} : { command };
  const skill = { name: "s", allowed: allowed === "" ? [] : allowed.split(", ") };
  const twin = { Edit: "ApplyPatch", ApplyPatch: "Edit" }[tool];
  const called = { name: tool, ...(twin !== undefined && { twin }) };
  return (await skillRule(skill, { tool: called, input, home: "/home/me" })) === undefined;
}

const tools: [allowed: string, tool: string, isAllowed: boolean][] = [
  ["Read, Grep", "Read", true],
  ["Read, Grep", "Write", false],
  ["Read", "read", false],
  ["", "Read", false],
  ["", "Skill", true],
  ["", "Finish", true],
  ["Edit", "ApplyPatch", true],
  ["ApplyPatch", "Edit", true],
  ["Bash", "TaskOutput", true],
  ["Bash(git:*)", "TaskStop", true],
  ["InvokeAgent", "TaskOutput", true],
  ["InvokeAgent", "TaskSend", true],
  ["Read", "TaskSend", false],
  ["Read", "TaskOutput", false],
  ["Read(src/*)", "Read", false],
  ["github__*", "github__search", true],
  ["mcp__github__search", "github__search", true],
  ["mcp__github__*", "gitlab__search", false],
  ["*", "Write", true],
];

test.each(tools)("with %j a call of %s is allowed: %p", async (allowed, tool, expected) => {
  expect(await isAllowed(allowed, tool)).toBe(expected);
});

describe("of commands", () => {
  const commands: [allowed: string, command: string, isAllowed: boolean][] = [
    ["Bash", "rm -rf x > y", true],
    ["Bash(*)", "anything at all", true],
    ["Bash(git:*)", "git", true],
    ["Bash(git:*)", "git log -1 | git stripspace && git status", true],
    ["Bash(git:*)", "'git' \"status\"", true],
    ["Bash(git:*)", "gitk", false],
    ["Bash(git:*)", "git status; rm x", false],
    ["Bash(git:*)", "git status\nrm x", false],
    ["Bash(git:*)", "git log $(rm x)", false],
    ["Bash(git:*)", "git log <(rm x)", false],
    ["Bash(git:*)", 'git log "`rm x`"', false],
    ["Bash(git:*)", "if git status; then rm x; fi", false],
    ["Bash(git:*)", "(git status; rm x) &", false],
    ["Bash(git:*)", "git() { rm x; }; git", false],
    ["Bash(git:*)", "alias git=rm; git x", false],
    ["Bash(git:*)", "GIT_PAGER=evil git log", false],
    ["Bash(git:*)", "PATH=. ; git log", false],
    ["Bash(git:*)", "env git log", false],
    ["Bash(git:*)", "./git log", false],
    ["Bash(git:*)", "$X git log", false],
    ["Bash(git:*)", "git log > file", false],
    ["Bash(git:*)", "git log &> file", false],
    ["Bash(git:*)", "git log 2>/dev/null 2>&1 < file", true],
    ["Bash(git:*)", "git log 'unfinished", false],
    ["Bash(git:*)", "cat <<X\n$(git log)\nX", false],
    ["Bash(git:*)", "! rm x", false],
    ["Bash(git:*)", "time rm x", false],
    ["Bash(git:*)", "[[ -f $(rm x) ]]", false],
    ["Bash(git:*)", "for f in $(rm x); do git log; done", false],
    ["Bash(git:*)", "git log ${x:-$(rm x)}", false],
    ["Bash(git:*)", "git log $(( $(rm x) + 1 ))", false],
    ["Bash(git:*)", "git log <<< $(rm x)", false],
    ["Bash(git:*)", "case $(rm x) in *) git log;; esac", false],
    ["Bash(git:*)", "(( x = $(rm x) ))", false],
    ["Bash(git:*)", "coproc rm x", false],
    ["Bash(git log:*)", "git log -1", true],
    ["Bash(git log:*)", "git logs", false],
    ["Bash(git log:*)", "git $X", false],
    ["Bash(npm run *)", "npm run test", true],
    ["Bash(npm run *)", "npm install", false],
    ["Bash(git status)", "git status", true],
    ["Bash(git status)", "git status -s", false],
    ["Bash(git:*), Bash(echo:*)", "echo a && git status", true],
    ["Bash()", "git status", false],
    ["Bash(a*a*a*a*a*a*a*a*a*b)", `${"a".repeat(100_000)}`, false],
    ["Bash(git:*)", "", true],
  ];
  for (const [allowed, command, expected] of commands)
    test(`${allowed} ${expected ? "allows" : "denies"} ${JSON.stringify(command.slice(0, 60))}`, async () => {
      expect(await isAllowed(allowed, "Bash", command)).toBe(expected);
    });
});
