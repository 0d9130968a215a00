import { KodaError } from "../lib/errors.ts";
import { nearest } from "../lib/nearest.ts";
import { commands, type CommandName, type CommandSpec } from "./commands.ts";
import type { Flag, Flags } from "./flags.ts";
import { answerForValue, answerForWord, commandForWord } from "./foreign.ts";
import { type CommandOptions, propertyOf } from "./options.ts";
import type { ArgumentType } from "./values.ts";

/** Returned instead of options when -h or --help comes before `--`. */
export const helpRequested = Symbol("help");

/**
 * Parses a command's arguments strictly: no flag is ignored or guessed, and none takes the next flag as its value.
 * Everything that is not understood is a usage error.
 */
export function parseArguments<N extends CommandName>(
  name: N,
  argv: readonly string[],
): CommandOptions<N> | typeof helpRequested {
  const command: NamedCommand = { name, ...commands[name] };
  const { given, words, literalFrom } = scan(command, argv);
  if (given.has("help")) return helpRequested;

  const options: Record<string, unknown> = {};
  for (const [flag, definition] of Object.entries(command.flags)) {
    if (flag === "help" || definition.means !== undefined) continue;
    const value = flagValue(command, flag, given.get(flag) ?? []);
    if (value !== undefined) options[propertyOf(flag)] = value;
  }
  if (literalFrom > 0) refuseCommandWord(command, words);
  const positionals = positionalValues(command, words);
  for (const [positional, value] of positionals) options[positional] = value;

  const named = [...positionals].filter(([, value]) => !Array.isArray(value) || value.length > 0);
  refuseContradictions(command, new Set([...given.keys(), ...named.map(([positional]) => positional)]), options);
  // The loops above follow the table from which the type is derived.
  return options as CommandOptions<N>;
}

/** A usage error that points to the help page. */
export function usageError(name: string, problem: string): KodaError {
  return new KodaError("usage", `${problem}\nSee ${name === "" ? "koda --help" : `koda ${name} --help`}`);
}

/** ` (did you mean "exec"?)`, or nothing. */
export function suggestion(word: string, candidates: Iterable<string>): string {
  const meant = nearest(word, candidates);
  return meant === undefined ? "" : ` (did you mean "${meant}"?)`;
}

type NamedCommand = CommandSpec & { name: string };

/** A flag as it was written, and the text of its value (empty for a switch). */
type Given = { written: string; text: string };
/** The words from the index `literalFrom` on followed `--`. */
type Scan = { given: Map<string, Given[]>; words: string[]; literalFrom: number };

function scan(command: NamedCommand, argv: readonly string[]): Scan {
  const lineAt = Object.values(command.positionals).findIndex(({ line }) => line);
  const given = new Map<string, Given[]>();
  const words: string[] = [];
  let literalFrom = Infinity;
  const rest = [...argv];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === "--") {
      literalFrom = words.length;
      words.push(...rest);
      break;
    }
    if (!word.startsWith("-") || word === "-" || isNegative(word, command, words.length)) {
      words.push(word);
      if (lineAt < 0 || words.length <= lineAt) continue;
      words.push(...unambiguous(command, words, rest));
      break;
    }
    for (const { written, attached } of flagsIn(command, word, rest[0])) {
      const flag = flagNamed(command, written, attached ?? rest[0]);
      const { value, means } = command.flags[flag] ?? {};
      if (value === undefined && attached !== undefined)
        throw usageError(command.name, `${written} takes no value, but was given "${attached}"`);
      const text = value === undefined ? "" : (attached ?? nextValue(command, written, value, rest));
      const target = means?.flag ?? flag;
      given.set(target, [...(given.get(target) ?? []), { written, text: means?.value ?? text }]);
      // Help comes first, whatever else is wrong with the line.
      if (flag === "help") return { given, words, literalFrom };
    }
  }
  return { given, words, literalFrom };
}

/** A number in the place of one. */
function isNegative(word: string, { positionals }: NamedCommand, at: number): boolean {
  return /^-\d/.test(word) && Object.values(positionals)[at]?.value.isNumber === true;
}

/** Without `--`, a flag after the program may be meant for either. */
function unambiguous({ name }: NamedCommand, words: readonly string[], rest: readonly string[]): readonly string[] {
  const flag = rest.find((word) => word.startsWith("-") && word !== "-");
  if (flag === undefined) return rest;
  const [start, program] = [["koda", name, ...words.slice(0, -1)], words.at(-1)];
  const line = [...start, "--", program, ...rest.filter((word) => word !== "--")].join(" ");
  throw usageError(name, `"${flag}" is ambiguous: put -- before the command: ${line}`);
}

type WrittenFlag = { written: string; attached?: string };

/** `--name`, `--name=value`, `-n`, `-nvalue`, `-n=value`, or several switches in one word (`-qv`). */
function flagsIn(command: NamedCommand, word: string, next: string | undefined): WrittenFlag[] {
  if (word.startsWith("--")) return [splitAtEquals(word)];

  const long = splitAtEquals(word.slice(1)).written;
  if (long.length > 1 && spellings(command.flags).has(`--${long}`))
    throw usageError(command.name, `Unknown flag "${word}": a long flag has two dashes, --${long}`);

  const found: WrittenFlag[] = [];
  for (let at = 1; at < word.length; at++) {
    const written = `-${word[at]}`;
    const attached = word.slice(at + 1);
    const definition = command.flags[flagNamed(command, written, attached || next)];
    if (attached === "" || (definition?.value === undefined && !attached.startsWith("="))) {
      found.push({ written });
      continue;
    }
    return [...found, { written, attached: attached.replace(/^=/, "") }];
  }
  return found;
}

function splitAtEquals(word: string): WrittenFlag {
  const equals = word.indexOf("=");
  return equals < 0 ? { written: word } : { written: word.slice(0, equals), attached: word.slice(equals + 1) };
}

function flagNamed({ name, flags, runsModel }: NamedCommand, written: string, value: string | undefined): string {
  const flag = spellings(flags).get(written);
  if (flag !== undefined) return flag;
  const answer = answerForWord(runsModel ? written : `${name} ${written}`, value);
  if (answer !== undefined) throw usageError(name, `Unknown flag "${written}": ${answer}`);
  const [, start = "", rest = ""] = /^(\S+)\s+(\S.*)$/s.exec(written) ?? [];
  if (spellings(flags).has(start))
    throw usageError(name, `Unknown flag "${written}": it is one word with its value; write ${start}=${rest}`);
  if (runsModel && spellings(commands.exec.flags).has(written))
    throw usageError(name, `Unknown flag "${written}": koda exec has it, and koda ${name} does not`);
  const candidates = Object.keys(flags).map((flag) => `--${flag}`);
  const harmless = candidates.filter((flag) => !widens(flag) || written.startsWith(flag.slice(0, 4)));
  throw usageError(name, `Unknown flag "${written}"${suggestion(written, harmless)}`);
}

/** A flag that allows more is suggested only for its own misspelling, not for `--sandbox` or `--disallow-net`. */
function widens(flag: string): boolean {
  return flag.startsWith("--allow-") || flag.startsWith("--no-");
}

/** Every way to write a flag, with its dashes. */
function spellings(flags: Flags): Map<string, string> {
  const found = new Map<string, string>();
  for (const [flag, { short, aliases = [] }] of Object.entries(flags)) {
    for (const long of [flag, ...aliases]) found.set(`--${long}`, flag);
    if (short !== undefined) found.set(`-${short}`, flag);
  }
  return found;
}

function nextValue(
  { name }: NamedCommand,
  written: string,
  { placeholder }: ArgumentType<unknown>,
  rest: string[],
): string {
  const next = rest[0];
  if (next === undefined) throw usageError(name, `${written} needs a value: ${written} ${placeholder}`);
  if (next.startsWith("-") && next !== "-")
    throw usageError(name, `${written} needs a value, and "${next}" is a flag: to pass it, write ${written}=${next}`);
  rest.shift();
  return next;
}

function flagValue(command: NamedCommand, flag: string, given: readonly Given[]): unknown {
  const { value, many, required }: Partial<Flag> = command.flags[flag] ?? {};
  if (value === undefined) return given.length > 0;
  if (given.length === 0 && required) throw usageError(command.name, `--${flag} ${value.placeholder} is missing`);
  const values = given.map(({ written, text }) => decode(command, written, value, text));
  if (many) return values.flat();

  const [first, other] = [given[0], given.find(({ text }) => text !== given[0]?.text)];
  if (first !== undefined && other !== undefined)
    throw usageError(
      command.name,
      `--${flag} was given twice, as "${first.text}" and as "${other.text}": give it once`,
    );
  return values[0];
}

function decode(
  { name, runsModel }: NamedCommand,
  written: string,
  type: ArgumentType<unknown>,
  text: string,
): unknown {
  const decoded = text === "" ? undefined : type.read(text);
  if (decoded !== undefined) return decoded;
  if (text === "" && type.ifEmpty !== undefined) throw usageError(name, type.ifEmpty);
  const answer = runsModel ? answerForValue(written, text) : undefined;
  const hint = answer !== undefined ? `; ${answer}` : type.choices ? suggestion(text, type.choices) : "";
  const shown = type.secret ? "" : ` "${text}"`;
  throw usageError(name, `${written}${shown}: expected ${type.expected}${hint}`);
}

/** `koda exec resume --last` is a habit from another agent, not a prompt of one word. */
function refuseCommandWord({ name, runsModel }: NamedCommand, [word, ...more]: readonly string[]): void {
  const answer = runsModel && word !== undefined && more.length === 0 ? commandForWord(word) : undefined;
  if (answer === undefined) return;
  throw usageError(
    name,
    `PROMPT "${word}" looks like a command: ${answer}\nTo send the word as a prompt: koda ${name} -- ${word}`,
  );
}

function positionalValues(command: NamedCommand, words: readonly string[]): Map<string, unknown> {
  const { name } = command;
  const values = new Map<string, unknown>();
  const positionals = Object.entries(command.positionals);
  for (const [index, [positional, { value, optional, line, many }]] of positionals.entries()) {
    const word = words[index];
    if (many && (optional || word !== undefined)) {
      const given = words.slice(index).map((each) => decode(command, value.placeholder, value, each));
      return values.set(positional, given);
    }
    if (word !== undefined) {
      const decoded = decode(command, value.placeholder, value, word);
      if (line) return values.set(positional, [decoded, ...words.slice(index + 1)]);
      values.set(positional, decoded);
    } else if (!optional) {
      const usage = `koda ${name} ${line ? "-- " : ""}${value.placeholder}`;
      throw usageError(name, `${value.placeholder} is missing: ${usage}`);
    }
  }
  const extra = words[positionals.length];
  if (extra !== undefined) throw usageError(name, `Unexpected argument "${extra}"${quotingHint(command, words)}`);
  return values;
}

/** Several words instead of one are usually a sentence without its quotes. */
function quotingHint({ positionals, runsModel }: NamedCommand, words: readonly string[]): string {
  const last = Object.values(positionals).at(-1);
  if (last?.value.sentence !== true) return "";
  if (words[0] === "-") return `: ${last.value.placeholder} is already - (stdin)`;
  const answer = runsModel ? commandForWord(words[0] ?? "") : undefined;
  const other = answer === undefined ? "" : `\nIf "${words[0]}" is meant as a command: ${answer}`;
  return `: ${last.value.placeholder} is one argument, so put it in quotes: "${words.join(" ")}"${other}`;
}

/** `present` are the flags and positionals that were given; a switch is in `options` in any case. */
function refuseContradictions(
  command: NamedCommand,
  present: ReadonlySet<string>,
  options: Readonly<Record<string, unknown>>,
): void {
  const fail = (problem: string) => usageError(command.name, problem);
  const shown = (key: string) => command.positionals[key]?.value.placeholder ?? `--${key}`;
  for (const set of command.exclusive ?? []) {
    const [one, other] = set.filter((key) => present.has(key));
    if (one === undefined || other === undefined) continue;
    const { flag, reason } = command.exclusiveReason ?? {};
    const why = flag === one || flag === other ? `: ${reason}` : "";
    throw fail(`${shown(one)} and ${shown(other)} cannot be used together${why}`);
  }
  for (const set of command.atLeastOne ?? [])
    if (!set.some((key) => present.has(key))) throw fail(`Expected ${set.map(shown).join(" or ")}`);
  for (const { flag, other } of command.needs ?? [])
    if (present.has(flag) && !present.has(other)) throw fail(`--${flag} requires --${other}`);
  for (const { flag, other, value } of command.onlyWith ?? []) {
    const actual = options[propertyOf(other)];
    if (present.has(flag) && actual !== undefined && actual !== value)
      throw fail(`--${flag} requires --${other} ${value}, not --${other} ${String(actual)}`);
  }
}
