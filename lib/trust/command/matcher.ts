import { readArguments, type Arguments } from "./options.ts";
import { patterns, table, valued } from "./table.ts";
import { shownWord, withoutGuess } from "./words.ts";

type OptionSpec = { readonly shown: string; readonly name: string; readonly value: RegExp };
type Operand = RegExp | "**" | "$";
type Row = Readonly<{ effect: string; isText: boolean; words: Operand[]; wants: OptionSpec[][]; lacks: OptionSpec[] }>;
type TableName = keyof typeof table;

/** One command as the table sees it. */
export type Invocation = Arguments & { readonly program: string };

export function lineOf(program: string, args: readonly string[]): Invocation {
  const literal = args.map(withoutGuess);
  const isGuess = literal.some((arg, index) => arg !== args[index]);
  const { takes = none } = valuedBy.get(program)?.[0]?.() ?? {};
  const read = readArguments(literal, takes);
  return { program, ...read, unclear: isGuess || read.unclear };
}

/** Text for a shell in the values of options. */
export function scriptsIn({ program, options }: Invocation): readonly string[] {
  const { scripts = none } = valuedBy.get(program)?.[0]?.() ?? {};
  return options.flatMap(({ name, value }) => (value !== undefined && scripts.has(name) ? [value] : []));
}

const none: ReadonlySet<string> = new Set();

type Match = Pick<Row, "effect" | "isText"> & { readonly starts: readonly number[] };

/**
 * The first row of a table that a command matches: its effect (for a destructive one: the rule, in the command's words)
 * and where in the arguments that goes on.
 */
export function matchIn(name: TableName, line: Invocation): Match | undefined {
  const rows = rowsIn.get(name);
  // `mkfs.ext4` is a kind of mkfs; what reads has to have its own name.
  const own = rows?.get(line.program) ?? (name === "reading" ? [] : rows?.get(line.program.replace(/\..*$/s, "")));
  for (const read of own ?? []) {
    const row = read();
    if (row.wants.length > 0 && line.options.length === 0) continue;
    const length = lengthOf(row.words, line, name === "reading");
    if (length === undefined) continue;
    const before = name === "running" ? (line.operands[length]?.at ?? Infinity) : Infinity;
    const has = (spec: OptionSpec, isWhole: boolean) => hasOption(line, spec, { before, isWhole });
    if (!row.wants.every((specs) => specs.some((spec) => has(spec, name === "reading")))) continue;
    if (name === "reading" && line.unclear && row.lacks.length + row.words.length > 0) continue;
    // A rehearsal has to be beyond doubt: its option in full, and not taken back.
    const isDestructive = name === "destructive";
    if (row.lacks.some((spec) => has(spec, isDestructive) && !(isDestructive && isTakenBack(line, spec)))) continue;
    const effect = isDestructive ? ruleOf(line, row, length) : row.effect;
    return { effect, isText: row.isText, starts: startsOf(line, length) };
  }
  return undefined;
}

/** The places in the arguments where that goes on: one more for each operand that may be the value of an option. */
function startsOf({ operands }: Invocation, length: number): readonly number[] {
  let last = length;
  return operands.flatMap(({ at, loose }, index) => {
    const isStart = index >= length && index <= last;
    if (loose) last++;
    return isStart ? [at] : [];
  });
}

type Seeking = { before: number; isWhole: boolean };

function hasOption({ options }: Invocation, spec: OptionSpec, { before, isWhole }: Seeking): boolean {
  const isNamed = (written: string) => {
    if (spec.name.endsWith("*")) return written.startsWith(spec.name.slice(0, -1));
    // GNU programs take any beginning of a long option for it.
    const isBeginning = !isWhole && written.length > 3 && written.startsWith("--") && spec.name.startsWith(written);
    return written === spec.name || isBeginning;
  };
  return options.some(({ name, at, value = "" }) => at < before && isNamed(name) && spec.value.test(value));
}

function isTakenBack({ options }: Invocation, spec: OptionSpec): boolean {
  const isNo = (value = "") => /^(none|false|no|0)$/i.test(value);
  return options.some(({ name, value }) => name === `--no${spec.name.slice(1)}` || (name === spec.name && isNo(value)));
}

/**
 * How many operands the patterns take up; undefined when they do not fit. A loose operand may be left out, and to be
 * sure of what is read there must be none.
 */
function lengthOf(words: readonly Operand[], { operands }: Invocation, isSure: boolean): number | undefined {
  // Bit n is set while the first n patterns fit.
  const whole = 1 << words.length;
  const mayLeaveOut = !isSure && words.at(-1) !== "$";
  let states = 1;
  for (const [index, { text, loose }] of operands.entries()) {
    if ((states & whole) !== 0) return index;
    if (loose && isSure) return undefined;
    let next = loose && mayLeaveOut ? states : 0;
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
  const isWhole = (states & whole) !== 0 || (words.at(-1) === "$" && (states & (whole >> 1)) !== 0);
  return isWhole ? operands.length : undefined;
}

function ruleOf({ program, operands }: Invocation, { words, wants }: Row, length: number): string {
  const named = operands.slice(0, words.includes("$") && words.length === 1 ? 0 : length);
  const shown = named.map(({ text }) => text.slice(0, 60));
  const short = shown.length > 4 ? [...shown.slice(0, 1), "…", ...shown.slice(-1)] : shown;
  return [program, ...short, ...wants.map(([first]) => first?.shown ?? "")].map(shownWord).join(" ");
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

const valuedBy = indexed(valued, (words) => ({
  takes: new Set(words.map((word) => word.replace("$", ""))),
  scripts: new Set(words.flatMap((word) => (word.startsWith("$") ? [word.slice(1)] : []))),
}));

const rowsIn: ReadonlyMap<string, ReturnType<typeof indexed<Row>>> = new Map(
  Object.entries(table).map(([name, text]) => [name, indexed(text, (words) => rowOf(name, words))]),
);

function rowOf(name: string, tokens: readonly string[]): Row {
  const specs = (token: string) => token.replace(/^!/, "").split("|").map(optionSpec);
  const effect = tokens.find((token) => /^:(write|remote)$/.test(token))?.slice(1);
  return {
    effect: effect ?? (name === "running" ? "read" : name),
    isText: tokens.includes(":text"),
    words: tokens
      .filter((token) => !/^!?-|^:\w/.test(token))
      .map((token) => (token === "**" || token === "$" ? token : patternOf(token, "s"))),
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
  const source = word
    .replaceAll(/[.+()[\]$]/g, String.raw`\$&`)
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  return new RegExp(`^(${source})$`, flags);
}
