import { together, unknownWrite } from "./claims.ts";
import { noEffect } from "../claim.ts";
import { parseOptions } from "./options.ts";
import type { ProgramRule } from "./program.ts";
import { writeToAll } from "./targets.ts";
import { exact, type Text } from "./text.ts";

/** sed, by its options and by what its script can do beyond printing. */
export const sed: ProgramRule = ({ args, scope }) => {
  const { operands, has, values, unclear } = parseOptions(args, {
    takes: "-e --expression -f --file -l --line-length",
  });
  const expressions = values("-e", "--expression");
  const isGiven = expressions.length > 0 || has("-f", "--file");
  const scripts = isGiven ? expressions : operands.slice(0, 1);
  const files = isGiven ? operands : operands.slice(1);
  const isOpaque = has("-f", "--file") || unclear;
  return together([
    ...scripts.map((script) => scriptClaim(script, scope)),
    ...(has("-i", "-I", "--in-place") ? [writeToAll(files, scope), ...(files.length === 0 ? [unknownWrite] : [])] : []),
    ...(isOpaque ? [unknownWrite] : []),
  ]);
};

function scriptClaim({ head, rest }: Text, scope: Parameters<ProgramRule>[0]["scope"]) {
  const effects = rest === "none" ? scriptEffects(head) : undefined;
  if (effects === undefined || effects.runs) return unknownWrite;
  return effects.files.length === 0 ? noEffect : writeToAll(effects.files.map(exact), scope);
}

/** Each command is cut off the front, which takes long when there are tens of thousands. */
const longestScript = 20_000;

type Effects = { files: string[]; runs: boolean };

/** The files that a script writes and whether it runs commands; undefined when it cannot be read. */
function scriptEffects(script: string): Effects | undefined {
  if (script.length > longestScript) return undefined;
  const effects: Effects = { files: [], runs: false };
  let rest = script;
  while (rest !== "") {
    const after = afterCommand(rest, effects);
    if (after === undefined) return undefined;
    rest = after;
  }
  return effects;
}

const address = /^(\d+(~\d+)?|\$|\/(\\.|\[[^\]]*\]|[^/\\[])*\/[IM]*)/;

/** Reads one command with its addresses; returns what follows it. */
function afterCommand(script: string, effects: Effects): string | undefined {
  let rest = script.replace(/^[\s;{}]+/, "").replace(address, "");
  const range = /^\s*,\s*([+~]?)/.exec(rest);
  if (range !== null) rest = rest.slice(range[0].length).replace(range[1] === "" ? address : /^\d+/, "");
  rest = rest.replace(/^[\s!]+/, "");

  const [command] = rest;
  if (command === undefined) return "";
  const line = /^[^\n]*/.exec(rest.slice(1))?.[0] ?? "";
  const afterLine = rest.slice(1 + line.length);
  switch (command) {
    case "{":
    case "}":
      return rest.slice(1);
    case "#":
    case ":":
    case "r":
    case "R":
      return afterLine;
    case "w":
    case "W":
      effects.files.push(line.trim());
      return afterLine;
    case "e":
      effects.runs = true;
      return afterLine;
    case "a":
    case "i":
    case "c":
      return rest.slice(1).replace(/^(\\.|[^\\\n])*/s, "");
    case "b":
    case "t":
    case "T":
      return rest.slice(1).replace(/^[^\n;}]*/, "");
    case "s":
      return afterSubstitution(rest.slice(1), effects);
    case "y":
      return afterDelimited(rest.slice(1))?.rest;
    default:
      return /^[=dDgGhHlnNpPqQxzF]$/.test(command) ? rest.slice(1).replace(/^ *\d*/, "") : undefined;
  }
}

function afterSubstitution(text: string, effects: Effects): string | undefined {
  const both = afterDelimited(text);
  if (both === undefined) return undefined;
  const [flags = ""] = /^[gpiImM0-9e]*/.exec(both.rest) ?? [];
  if (flags.includes("e")) effects.runs = true;
  const rest = both.rest.slice(flags.length);
  if (/^[\s;}]/.test(rest) || rest === "") return rest;
  if (!rest.startsWith("w")) return undefined;
  const [file = ""] = /^[^\n]*/.exec(rest.slice(1)) ?? [];
  effects.files.push(file.trim());
  return rest.slice(1 + file.length);
}

/** Past the two parts of `s/one/other/`, whatever the delimiter is. */
function afterDelimited(text: string): { rest: string } | undefined {
  const [delimiter] = text;
  if (delimiter === undefined || delimiter === "\n" || delimiter === "\\") return undefined;
  let found = 0;
  for (let at = 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === delimiter && ++found === 2) return { rest: text.slice(at + 1) };
  }
  return undefined;
}
