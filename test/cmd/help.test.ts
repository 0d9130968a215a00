import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { helpRequested, parseArguments } from "../../cmd/arguments.ts";
import { commands, families, type CommandName, type CommandSpec } from "../../cmd/commands.ts";
import { exits } from "../../cmd/exits.ts";
import { helpPage } from "../../cmd/help.ts";
import { exitByCode } from "../../lib/errors.ts";

const names = Object.keys(commands) as CommandName[];
const topics = ["", ...Object.keys(families), ...names];

test("koda exec --help is the page that people were promised", () => {
  const page = readFileSync(join(import.meta.dir, "exec-help.txt"), "utf8");
  expect(helpPage("exec", 80)).toBe(page);
});

describe("a page fits the terminal", () => {
  for (const topic of topics)
    for (const columns of [40, 64, 80, 200])
      test(`${topic || "koda"} in ${columns} columns`, () => {
        const isFree = (line: string) => /^ +(koda|npm|echo|mkdir|-|#? ?--)|^Usage: |\|/.test(line);
        for (const line of helpPage(topic, columns).split("\n"))
          if (!isFree(line)) expect(Bun.stringWidth(line), line).toBeLessThanOrEqual(Math.min(columns, 100));
      });
});

test("every flag of a command is on its page, with its value and what it is for", () => {
  for (const [name, { flags }] of Object.entries<CommandSpec>(commands)) {
    const page = helpPage(name, 100).replace(/\s+/g, " ");
    for (const [flag, { value, about }] of Object.entries(flags)) {
      expect(page).toContain(value === undefined ? `--${flag} ` : `--${flag} ${value.placeholder} `);
      expect(page).toContain(about);
    }
  }
});

test("every example is a command line that koda takes", () => {
  for (const name of names)
    for (const { line } of commands[name].examples) expect(takes(name, argumentsIn(line, name)), line).toBe(true);
});

/** The words of the first `koda` in a shell line, behind those that name the command. */
function argumentsIn(line: string, name: CommandName): string[] {
  const words = /koda (.*?)(?:\)"'.*| [|>].*)?$/.exec(line)?.[1]?.match(/"[^"]*"|'[^']*'|\S+/g) ?? [];
  return words.map((word) => word.replaceAll(/["']/g, "")).slice(name.split(" ").length);
}

function takes<N extends CommandName>(name: N, argv: readonly string[]): boolean {
  return parseArguments(name, argv) !== helpRequested;
}

test("every exit code that there is has a meaning on the page, and no other", () => {
  const codes = new Set<number>([0, ...Object.values(exitByCode)]);
  expect(exits.map(([code]) => code)).toEqual([...codes].toSorted((a, b) => a - b));
});
