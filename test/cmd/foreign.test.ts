import { describe, expect, test } from "bun:test";
import { parseArguments } from "../../cmd/arguments.ts";
import { commands } from "../../cmd/commands.ts";
import { isCommand, isFamily } from "../../cmd/commandtree.ts";
import { rootFlags, runFlags, type Flags } from "../../cmd/flags.ts";
import { answerForWord, commandForWord } from "../../cmd/foreign.ts";
import { foreignWords } from "../../cmd/foreignwords.ts";

const own: Flags = { ...runFlags, ...rootFlags, ...commands["doctor"].flags, ...commands["mcp add"].flags };
const spellingsOf = (flags: Flags) =>
  new Set(Object.entries(flags).flatMap(([name, { short }]) => [`--${name}`, ...(short ? [`-${short}`] : [])]));
const spellings = spellingsOf({ ...own, ...commands["review"].flags });
const answers = [...new Set(foreignWords.values())];

test("an answer names only what koda has", () => {
  const words = answers.flatMap((answer) =>
    [...answer.matchAll(/(?<=write |; |or |^)koda ([a-z]+)/g)].map(([, word]) => word),
  );
  const verbs = ["has", "needs", "takes", "does", "is"];
  const named = answers.flatMap((answer) => [...answer.matchAll(/(?<=^| )--?[A-Za-z][\w-]*/g)].map(([flag]) => flag));
  expect(named.filter((flag) => !spellings.has(flag))).toEqual([]);
  expect(words.filter((word = "") => !verbs.includes(word) && !isCommand(word) && !isFamily(word))).toEqual([]);
  expect([named.length, words.length].every((count) => count > 5)).toBe(true);
});

test("no answer opens anything", () => {
  for (const answer of answers)
    expect(answer).not.toMatch(/--(no-sandbox|allow-(?!tool)|net (?!none)|mode (?!plan|safe)|config sandbox)/);
});

test("no word is answered that koda takes itself", () => {
  const taken = [...foreignWords.keys()].filter((word) => spellingsOf(own).has(word) && word !== "--version");
  expect(taken).toEqual([]);
});

test("a command without the flag of an answer does not give it", () => {
  expect(() => parseArguments("session export", ["0199", "--format", "json"])).toThrow(
    /^--format "json": expected markdown, html, jsonl or atif( \(did you mean "jsonl"\?\))?\n/,
  );
});

describe("a habit is answered:", () => {
  const rows: readonly [argv: readonly string[], answer: string][] = [
    [["-p"], 'koda exec "PROMPT"'],
    [["--print"], 'koda exec "PROMPT"'],
    [["--full-auto"], "--net none"],
    [["-s", "read-only"], "--mode plan"],
    [["-sread-only"], "--mode plan"],
    [["--sandbox", "read-only"], "--mode plan"],
    [["--sandbox=read-only"], "--mode plan"],
    [["--sandbox", "workspace-write"], "--net none"],
    [["--sandbox", "danger-full-access"], "leave it out"],
    [["-c", "model=x"], "--config KEY=VALUE"],
    [["-a", "never"], "never asks"],
    [["--ask-for-approval", "never"], "never asks"],
    [["--skip-git-repo-check"], "leave it out"],
    [["--dangerously-skip-permissions"], "never asks"],
    [["--dangerously-bypass-approvals-and-sandbox"], "never asks"],
    [["--yolo"], "never asks"],
    [["--permission-mode", "plan"], "--mode plan"],
    [["--permission-mode", "acceptEdits"], "--mode safe"],
    [["--output-format", "json"], "--output text, json or jsonl"],
    [["--output-format=stream-json"], "--output jsonl"],
    [["--append-system-prompt", "x"], "AGENTS.md"],
    [["--continue"], "--last"],
    [["-r", "0199"], "--resume ID"],
    [["--effort", "high"], "--reasoning-effort"],
    [["--max-budget-usd", "1"], "--max-cost USD"],
    [["--settings", "s.json"], "--config KEY=VALUE"],
    [["--thinking", "high"], "--reasoning-effort"],
    [["--format", "json"], "--output jsonl"],
    [["--json-schema", "{}"], "--output-schema FILE"],
    [["--no-session"], "--ephemeral"],
    [["--dir", "src"], "-C DIR"],
    [["--output", "stream-json"], "--output jsonl"],
  ];
  for (const [argv, answer] of rows)
    test(argv.join(" "), () => {
      const { message } = thrownBy(() => parseArguments("exec", [...argv, "do it"]));
      expect(message).toContain(argv[0]?.startsWith("-s") ? 'Unknown flag "-s"' : (argv[0]?.split("=")[0] ?? ""));
      expect(message).toContain(answer);
    });

  test("a command", () => {
    const words = "run e ultrareview resume fork mcp-server login config update export version".split(" ");
    expect(words.filter((word) => answerForWord(word) === undefined)).toEqual([]);
  });

  const added: readonly [argv: readonly string[], answer: string][] = [
    [["--bearer-token-env-var", "TOKEN"], "'Authorization=Bearer ${NAME}'"],
    [["--transport", "sse"], "does not speak SSE"],
    [["--timeout", "5"], "call_timeout"],
    [["--trust"], "leave it out"],
    [["--exclude-tools", "a"], "disabled_tools"],
    [["--client-id", "a"], "--header NAME=VALUE"],
  ];
  for (const [argv, answer] of added)
    test(`mcp add ${argv.join(" ")}`, () => {
      expect(thrownBy(() => parseArguments("mcp add", ["docs", ...argv])).message).toContain(answer);
    });
});

describe("nothing that allows more is suggested for", () => {
  for (const flag of ["--sandbox", "--disallow-net", "--disallow-write", "--deny-write", "--sandboxed"])
    test(flag, () => {
      const { message } = thrownBy(() => parseArguments("exec", [flag, "do it"]));
      expect(message).not.toMatch(/did you mean "--(allow|no)-/);
    });

  test("but a misspelling of it finds it", () => {
    const rows = [
      ["--alow-net", "--allow-net"],
      ["--allow-writ", "--allow-write"],
      ["--no-sandbx", "--no-sandbox"],
    ];
    for (const [typed = "", meant] of rows)
      expect(thrownBy(() => parseArguments("exec", [typed, "do it"])).message).toContain(`did you mean "${meant}"`);
  });
});

test("every command, family and word below one is known as a command", () => {
  const words = new Set(Object.keys(commands).flatMap((path) => path.split(" ")));
  expect([...words].filter((word) => commandForWord(word) === undefined)).toEqual([]);
  expect(commandForWord("fix")).toBeUndefined();
  expect(commandForWord("constructor")).toBeUndefined();
});

function thrownBy(action: () => unknown): Error {
  try {
    action();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error("nothing was thrown");
}
