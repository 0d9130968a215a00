import { effects } from "../claim.ts";
import { readArguments, type Arguments } from "./options.ts";
import { patterns, table, valued } from "./table.ts";
import { shownWord, withoutGuess } from "./words.ts";

type OptionSpec = { readonly shown: string; readonly name: string; readonly value: RegExp };
type Row = ReturnType<typeof rowOf>;

/** One command as the table sees it, and text for a shell in the values of its options. */
export type Invocation = Arguments & { readonly program: string; readonly scripts: readonly string[] };

export function lineOf(program: string, args: readonly string[]): Invocation {
  const literal = args.map(withoutGuess);
  const takes: ReadonlyMap<string, boolean> = valuedBy.get(program)?.[0]?.() ?? new Map();
  const read = readArguments(literal, takes);
  const scripts = read.options.flatMap(({ name, value }) => (takes.get(name) === true ? (value ?? []) : []));
  return { program, ...read, unclear: read.unclear || literal.some((arg, index) => arg !== args[index]), scripts };
}

/** The first row of a table that a command matches, and how many of its operands that takes. */
type Match = { readonly row: Row; readonly length: number };

export function matchIn(name: keyof typeof table, line: Invocation): Match | undefined {
  const rows = rowsIn.get(name);
  // `mkfs.ext4` is a kind of mkfs; what reads has to have its own name.
  const own = rows?.get(line.program) ?? (name === "reading" ? [] : rows?.get(line.program.replace(/\..*$/s, "")));
  for (const read of own ?? []) {
    const row = read();
    if (row.wants.length > 0 && line.options.length === 0) continue;
    const length = lengthOf(row, line, name === "reading");
    if (length === undefined) continue;
    const before = name === "running" ? (line.operands[length]?.at ?? Infinity) : Infinity;
    const has = (spec: OptionSpec, isWhole: boolean) =>
      line.options.some((option) => option.at < before && isMeant(option, spec, isWhole));
    if (!row.wants.every((specs) => specs.some((spec) => has(spec, name === "reading")))) continue;
    if (name === "reading" && line.unclear && (row.isEnd || row.lacks.length + row.words.length > 0)) continue;
    // A rehearsal has to be beyond doubt: its option in full, and not taken back.
    const isDestructive = name === "destructive";
    if (row.lacks.some((spec) => has(spec, isDestructive) && !(isDestructive && isTakenBack(line, spec)))) continue;
    return { row, length };
  }
  return undefined;
}

/** The places in the arguments where that goes on: one more for each operand that may be the value of an option. */
export function startsOf({ operands }: Invocation, { length }: Match): readonly number[] {
  let last = length;
  return operands.flatMap(({ at, loose }, index) => {
    const isStart = index >= length && index <= last;
    if (loose) last++;
    return isStart ? [at] : [];
  });
}

function isMeant({ name, value = "" }: Arguments["options"][number], spec: OptionSpec, isWhole: boolean): boolean {
  // GNU programs take any beginning of a long option for it.
  const isBeginning = !isWhole && name.length > 3 && name.startsWith("--") && spec.name.startsWith(name);
  const isOne = spec.name.endsWith("*") ? name.startsWith(spec.name.slice(0, -1)) : name === spec.name || isBeginning;
  return isOne && spec.value.test(value);
}

function isTakenBack({ options }: Invocation, spec: OptionSpec): boolean {
  const isNo = (value = "") => /^(none|false|no|0)$/i.test(value);
  return options.some(({ name, value }) => name === `--no${spec.name.slice(1)}` || (name === spec.name && isNo(value)));
}

/**
 * How many operands the patterns take up; undefined when they do not fit. A loose operand may be left out, and to be
 * sure of what is read there must be none.
 */
function lengthOf({ words, isEnd }: Row, { operands }: Invocation, isSure: boolean): number | undefined {
  // Bit n is set while the first n patterns fit.
  const whole = 1 << words.length;
  let states = 1;
  for (const [index, { text, loose }] of operands.entries()) {
    if ((states & whole) !== 0 && !isEnd) return index;
    if (loose && isSure) return undefined;
    let next = loose && !isEnd ? states : 0;
    for (let at = 0; at < words.length; at++) {
      if ((states & (1 << at)) === 0) continue;
      const isMany = words[at] === "**";
      const word = words[isMany ? at + 1 : at];
      if (isMany) next |= 1 << at;
      if (word instanceof RegExp && word.test(text)) next |= 1 << (isMany ? at + 2 : at + 1);
    }
    if (next === 0) return undefined;
    states = next;
  }
  return (states & whole) === 0 ? undefined : operands.length;
}

/** The row in the command's own words. */
export function ruleOf({ program, operands }: Invocation, { row, length }: Match): string {
  const shown = operands.slice(0, length).map(({ text }) => text.slice(0, 60));
  const short = shown.length > 4 ? [...shown.slice(0, 1), "…", ...shown.slice(-1)] : shown;
  return [program, ...short, ...row.wants.map(([first]) => first?.shown ?? "")].map(shownWord).join(" ");
}

/** The entries of each program in a text. A run has few, and its first command waits: one is read when it is needed. */
function indexed<T>(text: string, read: (words: readonly string[]) => T): ReadonlyMap<string, readonly (() => T)[]> {
  const index = new Map<string, (() => T)[]>();
  for (const entry of text.split(";")) {
    const [programs = "", ...words] = entry.trim().split(/\s+/);
    let known: T | undefined;
    const readOnce = () => (known ??= read(words));
    for (const program of programs.split("|")) index.set(program, [...(index.get(program) ?? []), readOnce]);
  }
  return index;
}

/** Of options with a value, whether that is text for a shell. */
const valuedBy = indexed(valued, (all) => new Map(all.map((each) => [each.replace("$", ""), each.startsWith("$")])));

const rowsIn: ReadonlyMap<string, ReturnType<typeof indexed<Row>>> = new Map(
  Object.entries(table).map(([name, text]) => [name, indexed(text, rowOf)]),
);

function rowOf(tokens: readonly string[]) {
  const specs = (token: string) => token.replace(/^!/, "").split("|").map(optionSpec);
  return {
    effect: effects.find((effect) => tokens.includes(`:${effect}`)) ?? "read",
    isText: tokens.includes(":text"),
    sets: tokens.includes(":sets"),
    words: tokens
      .filter((token) => !/^!?-|^:\w|^\$$/.test(token))
      .map((token) => (token === "**" ? token : patternOf(token, "s"))),
    isEnd: tokens.includes("$"),
    wants: tokens.filter((token) => token.startsWith("-")).map(specs),
    lacks: tokens.filter((token) => token.startsWith("!")).flatMap(specs),
  };
}

function optionSpec(text: string): OptionSpec {
  const [name = "", value] = text.split(/=(.*)/s);
  const shown = (text.startsWith("--") ? text.replace("*", "") : text.replace("=", " ")).replace(/<.*>/, "…");
  return { shown, name, value: value === undefined ? /(?:)/ : patternOf(value, "is") };
}

function patternOf(word: string, flags: string): RegExp {
  const named = patterns[/^<(\w+)>$/.exec(word)?.[1] ?? ""];
  if (named !== undefined) return named;
  const source = word.replaceAll(/[.+()[\]$?]/g, (one) => (one === "?" ? "." : `\\${one}`)).replaceAll("*", ".*");
  return new RegExp(`^(${source})$`, flags);
}
