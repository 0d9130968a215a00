import { KodaError } from "../lib/errors.ts";
import { nearest } from "../lib/nearest.ts";
import { commands, type Command, type CommandName } from "./commands.ts";
import type { Flag, Flags } from "./flags.ts";
import { ownCommand, ownWord } from "./foreign.ts";
import { propertyOf, type Options } from "./options.ts";
import type { Value } from "./values.ts";

/** What a reading gives instead of options when -h or --help stands before `--`. */
export const helpWanted = Symbol("help");

/**
 * The strict reading of a command's arguments. Everything is either understood or refused: no flag is dropped or
 * guessed, and none takes the next flag for its value.
 */
export function readOptions<N extends CommandName>(name: N, argv: readonly string[]): Options<N> | typeof helpWanted {
  const command: Command = commands[name];
  const { given, places, literalFrom } = scan(name, command, argv);
  if (given.has("help")) return helpWanted;

  const options: Record<string, unknown> = {};
  for (const [flag, definition] of Object.entries(command.flags)) {
    if (flag === "help" || definition.means !== undefined) continue;
    const value = flagValue(name, flag, definition, given.get(flag) ?? []);
    if (value !== undefined) options[propertyOf(flag)] = value;
  }
  if (literalFrom > 0) refuseCommandWord(name, command, places);
  const placed = placeValues(name, command, places);
  for (const [place, value] of placed) options[place] = value;

  refuseContradictions(name, command, new Set([...given.keys(), ...placed.keys()]), options);
  // The loops above went through the very table that gives the type.
  return options as Options<N>;
}

/** A complaint about a command line, with the way to the page that would have helped. */
export function usageError(name: string, complaint: string): KodaError {
  return new KodaError("usage", `${complaint}\nSee ${name === "" ? "koda --help" : `koda ${name} --help`}`);
}

/** `(did you mean "exec"?)` with a space before it, or nothing. */
export function suggestion(word: string, candidates: Iterable<string>): string {
  const meant = nearest(word, candidates);
  return meant === undefined ? "" : ` (did you mean "${meant}"?)`;
}

/** A flag as it was written and the text of its value; a switch has none. */
type Given = { written: string; text: string };
/** From the index `literalFrom` on, the words in `places` followed `--`. */
type Scan = { given: Map<string, Given[]>; places: string[]; literalFrom: number };

function scan(name: string, command: Command, argv: readonly string[]): Scan {
  const { flags } = command;
  const takesLine = Object.values(command.positionals).some(({ line }) => line);
  const given = new Map<string, Given[]>();
  const places: string[] = [];
  let literalFrom = Infinity;
  const rest = [...argv];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === "--") {
      literalFrom = places.length;
      places.push(...rest);
      break;
    }
    if (!word.startsWith("-") || word === "-") {
      places.push(word);
      if (!takesLine) continue;
      places.push(...unambiguous(name, word, rest));
      break;
    }
    for (const { written, attached } of flagsIn(name, command, word, rest[0])) {
      const flag = known(name, command, written, attached ?? rest[0]);
      const definition = flags[flag];
      const text = definition?.value ? (attached ?? nextValue(name, written, definition.value, rest)) : "";
      if (!definition?.value && attached !== undefined)
        throw usageError(name, `${written} takes no value, but was given "${attached}"`);
      const target = definition?.means?.flag ?? flag;
      given.set(target, [...(given.get(target) ?? []), { written, text: definition?.means?.value ?? text }]);
      // Help answers at once, whatever else is wrong with the line.
      if (flag === "help") return { given, places, literalFrom };
    }
  }
  return { given, places, literalFrom };
}

/** Behind a program without `--` a flag may be meant for either. */
function unambiguous(name: string, program: string, rest: readonly string[]): readonly string[] {
  const flag = rest.find((word) => word.startsWith("-") && word !== "-");
  if (flag === undefined) return rest;
  const line = [program, ...rest.filter((word) => word !== "--")].join(" ");
  throw usageError(name, `"${flag}" is ambiguous: put -- before the command: koda ${name} -- ${line}`);
}

type Written = { written: string; attached?: string };

/** `--name`, `--name=value`, `-n`, `-nvalue`, `-n=value`, or several switches in one word (`-qv`). */
function flagsIn(name: string, command: Command, word: string, next: string | undefined): Written[] {
  if (word.startsWith("--")) return [split(word)];

  const { flags } = command;
  const long = split(word.slice(1)).written;
  if (long.length > 1 && spellings(flags).has(`--${long}`))
    throw usageError(name, `Unknown flag "${word}": a long flag has two dashes, --${long}`);

  const found: Written[] = [];
  for (let at = 1; at < word.length; at++) {
    const written = `-${word[at]}`;
    const attached = word.slice(at + 1);
    const definition = flags[known(name, command, written, attached || next)];
    if (attached === "" || (definition?.value === undefined && !attached.startsWith("="))) {
      found.push({ written });
      continue;
    }
    return [...found, { written, attached: attached.replace(/^=/, "") }];
  }
  return found;
}

function split(word: string): Written {
  const equals = word.indexOf("=");
  return equals < 0 ? { written: word } : { written: word.slice(0, equals), attached: word.slice(equals + 1) };
}

function known(name: string, command: Command, written: string, value: string | undefined): string {
  const flag = spellings(command.flags).get(written);
  if (flag !== undefined) return flag;
  const answer = command.runsModel ? ownWord(written, value) : undefined;
  if (answer !== undefined) throw usageError(name, `Unknown flag "${written}": ${answer}`);
  const candidates = Object.keys(command.flags).map((flag) => `--${flag}`);
  const meant = suggestion(
    written,
    candidates.filter((flag) => !widens(flag) || written.startsWith(flag.slice(0, 4))),
  );
  throw usageError(name, `Unknown flag "${written}"${meant}`);
}

/** A flag that allows more is offered only for a misspelling of itself: `--sandbox` and `--disallow-net` are none. */
function widens(flag: string): boolean {
  return flag.startsWith("--allow-") || flag.startsWith("--no-");
}

/** Every way to write a flag, with the dashes. */
function spellings(flags: Flags): Map<string, string> {
  const found = new Map<string, string>();
  for (const [flag, { short, aliases = [] }] of Object.entries(flags)) {
    for (const long of [flag, ...aliases]) found.set(`--${long}`, flag);
    if (short !== undefined) found.set(`-${short}`, flag);
  }
  return found;
}

function nextValue(name: string, written: string, { placeholder }: Value<unknown>, rest: string[]): string {
  const next = rest[0];
  if (next === undefined) throw usageError(name, `${written} needs a value: ${written} ${placeholder}`);
  if (next.startsWith("-") && next !== "-")
    throw usageError(
      name,
      `${written} needs a value, and "${next}" looks like a flag: write ${written}=${next} if it is meant as one`,
    );
  rest.shift();
  return next;
}

function flagValue(name: string, flag: string, definition: Flag, given: readonly Given[]): unknown {
  const { value, many, required } = definition;
  if (value === undefined) return given.length > 0;
  if (given.length === 0 && required) throw usageError(name, `--${flag} ${value.placeholder} is missing`);
  const values = given.map(({ written, text }) => decode(name, written, value, text));
  if (many) return values.flat();

  const [first, other] = [given[0], given.find(({ text }) => text !== given[0]?.text)];
  if (first !== undefined && other !== undefined)
    throw usageError(name, `--${flag} was given twice, as "${first.text}" and as "${other.text}": give it once`);
  return values[0];
}

function decode(name: string, written: string, value: Value<unknown>, text: string): unknown {
  const decoded = text === "" ? undefined : value.read(text);
  if (decoded !== undefined) return decoded;
  if (text === "" && value.ifEmpty !== undefined) throw usageError(name, value.ifEmpty);
  const answer = commandOf(name)?.runsModel ? ownWord(written, text) : undefined;
  const hint = answer !== undefined ? `; ${answer}` : value.choices ? suggestion(text, value.choices) : "";
  const shown = value.secret ? "" : ` "${text}"`;
  throw usageError(name, `${written}${shown}: expected ${value.expected}${hint}`);
}

function commandOf(name: string): Command | undefined {
  return Object.entries<Command>(commands).find(([path]) => path === name)?.[1];
}

/** `koda exec resume --last` is a habit from elsewhere, and would be paid for as a prompt of one word. */
function refuseCommandWord(name: string, { runsModel }: Command, [word, ...more]: readonly string[]): void {
  const way = runsModel && word !== undefined && more.length === 0 ? ownCommand(word) : undefined;
  if (way === undefined) return;
  throw usageError(
    name,
    `PROMPT "${word}" looks like a command: ${way}\nTo send the word as a prompt: koda ${name} -- ${word}`,
  );
}

function placeValues(name: string, command: Command, words: readonly string[]): Map<string, unknown> {
  const values = new Map<string, unknown>();
  const places = Object.entries(command.positionals);
  for (const [index, [place, { value, optional, line }]] of places.entries()) {
    const word = words[index];
    if (word !== undefined) {
      const decoded = decode(name, value.placeholder, value, word);
      if (line) return values.set(place, [decoded, ...words.slice(1)]);
      values.set(place, decoded);
    } else if (!optional) {
      const call = `koda ${name} ${line ? "-- " : ""}${value.placeholder}`;
      throw usageError(name, `${value.placeholder} is missing: ${call}`);
    }
  }
  const extra = words[places.length];
  if (extra !== undefined) throw usageError(name, `Unexpected argument "${extra}"${quotingHint(command, words)}`);
  return values;
}

/** Several words where one is expected are most often a sentence that lost its quotes. */
function quotingHint(command: Command, words: readonly string[]): string {
  const last = Object.values(command.positionals).at(-1);
  if (last?.value.sentence !== true) return "";
  if (words[0] === "-") return `: ${last.value.placeholder} is - already, which is standard input`;
  const way = command.runsModel ? ownCommand(words[0] ?? "") : undefined;
  const other = way === undefined ? "" : `\nIf "${words[0]}" is meant as a command: ${way}`;
  return `: ${last.value.placeholder} is one argument, so put it in quotes: "${words.join(" ")}"${other}`;
}

function refuseContradictions(
  name: string,
  command: Command,
  present: ReadonlySet<string>,
  options: Readonly<Record<string, unknown>>,
): void {
  const call = (key: string) => command.positionals[key]?.value.placeholder ?? `--${key}`;
  // A switch is present in `options` always, and in `present` only when it was given.
  for (const set of command.exclusive ?? []) {
    const [one, other] = set.filter((key) => present.has(key));
    if (one !== undefined && other !== undefined)
      throw usageError(name, `${call(one)} and ${call(other)} cannot be used together`);
  }
  for (const set of command.atLeastOne ?? [])
    if (!set.some((key) => present.has(key))) throw usageError(name, `Expected ${set.map(call).join(" or ")}`);
  for (const { flag, other } of command.needs ?? [])
    if (present.has(flag) && !present.has(other)) throw usageError(name, `--${flag} requires --${other}`);
  for (const { flag, other, value } of command.onlyWith ?? []) {
    const actual = options[propertyOf(other)];
    if (present.has(flag) && actual !== undefined && actual !== value)
      throw usageError(name, `--${flag} requires --${other} ${value}, not --${other} ${String(actual)}`);
  }
}
