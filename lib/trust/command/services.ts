import { type Claim, noEffect } from "../claim.ts";
import { destructive, remote } from "./claims.ts";
import { parseOptions } from "./options.ts";
import type { ProgramCall } from "./program.ts";
import { contacting, destroying, inspecting, valuedOptions } from "./rows.ts";
import type { Text } from "./text.ts";

/** The claim of a program that the tables know by its subcommand; undefined when none does. */
export function serviceClaim({ name, args }: ProgramCall): Claim | undefined {
  const takes = Object.hasOwn(valuedOptions, name) ? valuedOptions[name] : undefined;
  const { operands, given, values } = parseOptions(args, takes === undefined ? {} : { takes });
  const methods = values("-X", "--method").flatMap(({ head }) => [`-X=${head}`, `--method=${head}`]);
  const line: Line = { name, words: operands.map(wordOf), options: new Set([...given, ...methods]) };

  const rows = allRows();
  const lost = firstMatch(rows.destroying, line);
  if (lost !== undefined) return isRehearsal(args) ? remote : destructive(lost);
  const dropped = databases.has(name) ? args.map(droppedBy).find((what) => what !== undefined) : undefined;
  if (dropped !== undefined) return destructive(`${name}: ${dropped}`);
  if (firstMatch(rows.inspecting, line) !== undefined) return noEffect;
  return firstMatch(rows.contacting, line) === undefined ? undefined : remote;
}

type Line = { name: string; words: readonly string[]; options: ReadonlySet<string> };

/** A row with its alternatives as patterns. */
type Row = { readonly words: readonly (RegExp | "**")[]; readonly options: readonly string[] };

type Tables = { destroying: readonly Row[]; inspecting: readonly Row[]; contacting: readonly Row[] };

let tables: Tables | undefined;

/** Read when first needed: most runs never see such a program, and all of them pay for what is done at the start. */
function allRows(): Tables {
  tables ??= { destroying: rowsOf(destroying), inspecting: rowsOf(inspecting), contacting: rowsOf(contacting) };
  return tables;
}

function rowsOf(table: string): readonly Row[] {
  const lines = table.split("\n").filter((line) => line.trim() !== "");
  return lines.map((line) => {
    const words = line.trim().split(/\s+/);
    return {
      words: words.filter((word) => !word.startsWith("-")).map(patternOf),
      options: words.filter((word) => word.startsWith("-")).flatMap((word) => word.split("|")),
    };
  });
}

function patternOf(word: string): RegExp | "**" {
  if (word === "**") return word;
  const alternatives = word.replaceAll(/[.+]/g, String.raw`\$&`).replaceAll("*", ".*");
  return new RegExp(`^(${alternatives})$`);
}

/** The first row that the line begins with, as the words of the line that matched it. */
function firstMatch(rows: readonly Row[], { name, words, options }: Line): string | undefined {
  for (const row of rows) {
    const end = matched(row.words, [name, ...words]);
    if (end === undefined) continue;
    const option = row.options.find((one) => options.has(one));
    if (row.options.length > 0 && option === undefined) continue;
    const shown = option === undefined ? [] : [option.replace("=", " ")];
    const operands = words.slice(0, end - 1);
    return [name, ...(operands.length > 4 ? ["…", ...operands.slice(-1)] : operands), ...shown].join(" ");
  }
  return undefined;
}

/** How many of the words the patterns take up; undefined when they do not fit. */
function matched(
  [pattern, ...others]: readonly (RegExp | "**")[],
  words: readonly string[],
  from = 0,
): number | undefined {
  if (pattern === undefined) return from;
  if (pattern !== "**") {
    const word = words[from];
    return word !== undefined && pattern.test(word) ? matched(others, words, from + 1) : undefined;
  }
  for (let start = from; start < words.length; start++) {
    const end = matched(others, words, start);
    if (end !== undefined) return end;
  }
  return undefined;
}

/** A word that is not wholly known matches nothing. */
function wordOf({ head, rest }: Text): string {
  return rest === "none" ? head : "\0";
}

function isRehearsal(args: readonly Text[]): boolean {
  return args.some(({ head, rest }) => rest === "none" && /^--dry-?run(=(?!none$|false$).*)?$/.test(head));
}

const databases: ReadonlySet<string> = new Set(
  "psql mysql mariadb mongo mongosh redis-cli cqlsh sqlcmd clickhouse-client".split(" "),
);

function droppedBy({ head }: Text): string | undefined {
  const found = /\b(drop\s+(database|schema|table)|truncate\s+(?=\w)|flushall|flushdb|dropdatabase)\b/i.exec(head);
  return found?.[0].trim().replaceAll(/\s+/g, " ").toLowerCase();
}
