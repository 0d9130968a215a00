import { type Claim, noEffect } from "../claim.ts";
import { together, unknownWrite } from "./claims.ts";
import { parseOptions } from "./options.ts";
import type { ProgramRule } from "./program.ts";
import type { ShellScope } from "./scope.ts";
import { writeToAll } from "./targets.ts";
import { exact, type Text } from "./text.ts";

/** awk, by what its program can do beyond printing: run commands, pipe into them, write files. */
export const awk: ProgramRule = ({ args, scope }) => {
  const { operands, has, values, unclear } = parseOptions(args, {
    takes: "-F --field-separator -v --assign -e --source -f --file -i --include -l --load -E --exec",
    leading: true,
  });
  const isOpaque =
    unclear || has("-f", "--file", "-i", "--include", "-l", "--load", "-E", "--exec", "-o", "-p", "-d", "-D");
  const sources = values("-e", "--source");
  const programs = sources.length > 0 ? sources : operands.slice(0, 1);
  return together([...programs.map((program) => programClaim(program, scope)), ...(isOpaque ? [unknownWrite] : [])]);
};

/** Parentheses are taken away one level after the other, which takes long when there are thousands. */
const longestProgram = 20_000;

function programClaim({ head, rest }: Text, scope: ShellScope): Claim {
  if (rest !== "none" || head.length > longestProgram) return unknownWrite;
  const { code, strings } = withoutStrings(head);
  const runs = /\bsystem\s*\(|[^|]\|&?[^|&]|@/.test(code);
  if (runs) return unknownWrite;
  const files = [...code.matchAll(/\bprintf?\b([^;}\n]*)/g)].flatMap(([, rest = ""]) => redirectedTo(rest, strings));
  if (files.some((file) => file === undefined)) return unknownWrite;
  return files.length === 0
    ? noEffect
    : writeToAll(
        files.flatMap((file) => (file === undefined ? [] : exact(file))),
        scope,
      );
}

/** The code with `"0"`, `"1"`, … in place of its strings, and without comments and regular expressions. */
function withoutStrings(program: string): { code: string; strings: readonly string[] } {
  const strings: string[] = [];
  const code = program.replaceAll(
    /"((?:\\.|[^"\\])*)"|#[^\n]*|(?<=^|[(,~!{;&|\n]\s*)\/(?:\\.|\[[^\]]*\]|[^/\\\n[])+\//gs,
    (_, text: string | undefined) => (text === undefined ? " " : `"${strings.push(text) - 1}"`),
  );
  return { code, strings };
}

/** The targets of `print`: `>` outside parentheses is no comparison there. Undefined for a file that is computed. */
function redirectedTo(rest: string, strings: readonly string[]): (string | undefined)[] {
  let flat = rest;
  for (let before = ""; before !== flat;) {
    before = flat;
    flat = flat.replaceAll(/\([^()]*\)/g, " ");
  }
  const target = /> *>? *(.*)$/s.exec(flat)?.[1];
  if (target === undefined) return [];
  const [, index] = /^"(\d+)"\s*$/.exec(target) ?? [];
  return [index === undefined ? undefined : strings[Number(index)]];
}
