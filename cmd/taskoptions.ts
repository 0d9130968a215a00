import { resolve } from "node:path";
import type { JsonRecord } from "../lib/config/json.ts";
import { parseRules } from "../lib/egress/rules/rules.ts";
import { formatDuration } from "../lib/config/units.ts";
import { KodaError } from "../lib/errors.ts";
import type { TaskOptions } from "../lib/fleet/list/row.ts";
import { shownJson } from "../lib/fleet/list/listerrors.ts";
import { nearest } from "../lib/nearest.ts";
import { helpRequested, parseArguments } from "./arguments.ts";
import { runFlags, taskFlags, type Flag, type Flags } from "./flags.ts";
import { type ExecOptions, propertyOf } from "./options.ts";
import { readAnswerSchema } from "./schema.ts";

/** The texts of a flag's values; none for a switch. */
type GivenFlags = ReadonlyMap<string, readonly string[]>;

type OptionReading = {
  /** The flags of the command line. */
  defaults: GivenFlags;
  /** Of the list, where paths of its options start. */
  directory: string;
  noSandbox: boolean;
  /** Throws a KodaError for options that this machine cannot carry out, where it has to. */
  check?: ((options: ExecOptions) => Promise<void>) | undefined;
};

const flags: Flags = taskFlags;

/**
 * Reads the options of tasks: flags of `koda exec` by their names. What a task has of its own wins over the defaults,
 * and all together have to be what `koda exec` takes.
 */
export function openTaskOptions({ defaults, directory, ...reading }: OptionReading) {
  const known = new Map<string, Promise<TaskOptions | { problems: readonly string[] }>>();
  const read = async (own: JsonRecord) => {
    const { given, removed, problems } = ownFlags(own, directory);
    if (problems.length > 0) return { problems };
    const all = [...new Map([...defaults, ...given])];
    const kept = all.filter(([name]) => !removed.includes(name));
    const found = await optionsOf(kept, reading);
    // Without options of its own they are those of the command line.
    if (!("problems" in found) || Object.keys(own).length === 0) return found;
    return { problems: found.problems.map((problem) => `"options": ${problem}`) };
  };
  // Most tasks of a list have the same ones.
  return (own: JsonRecord) => {
    const text = JSON.stringify(own);
    const found = known.get(text) ?? read(own);
    known.set(text, found);
    return found;
  };
}

/** The flags of a command line, as a task would write them. Paths of its own start in the current directory. */
export function defaultFlags(options: JsonRecord): GivenFlags {
  const given = new Map<string, readonly string[]>();
  for (const [name, { value }] of Object.entries(flags)) {
    const own = name === "max-cost" || name === "max-tokens" ? `task-${name}` : name;
    const found = options[propertyOf(own)];
    if (found === undefined || found === false) continue;
    const texts = found === true ? [] : (Array.isArray(found) ? found : [found]).map((each) => textOf(value, each));
    if (value === undefined || texts.length > 0)
      given.set(
        name,
        texts.map((text) => placed(name, text, ".")),
      );
  }
  return given;
}

function textOf(value: Flag["value"], decoded: unknown): string {
  return value?.placeholder === "DURATION" ? formatDuration(Number(decoded)) : String(decoded);
}

type Own = { given: GivenFlags; removed: readonly string[]; problems: readonly string[] };

/** `false` takes a switch of the command line back, and an empty list the values of a flag. */
function ownFlags(own: JsonRecord, directory: string): Own {
  const given = new Map<string, readonly string[]>();
  const removed: string[] = [];
  const problems: string[] = [];
  for (const [name, value] of Object.entries(own)) {
    const flag = Object.hasOwn(flags, name) ? flags[name] : undefined;
    const texts = flag && textsOf(flag, value);
    if (flag === undefined) problems.push(`"options.${name}": ${whyNot(name)}`);
    else if (texts === undefined) problems.push(`"options.${name}" ${shownJson(value)}: expected ${expectedOf(flag)}`);
    else if (value === false || (flag.value !== undefined && texts.length === 0)) removed.push(name);
    else
      given.set(
        name,
        texts.map((text) => placed(name, text, directory)),
      );
  }
  return { given, removed, problems };
}

/** A text may be several values, as on a command line; the items of a list are one each. */
function textsOf({ value, many }: Flag, given: unknown): string[] | undefined {
  if (value === undefined) return typeof given === "boolean" ? [] : undefined;
  const several = many && typeof given === "string" ? value.read(given) : given;
  const list: readonly unknown[] = many && Array.isArray(several) ? several : [given];
  const isText = (item: unknown) => (typeof item === "string" && item !== "") || typeof item === "number";
  return list.every(isText) ? list.map(String) : undefined;
}

function expectedOf({ value, many }: Flag): string {
  if (value === undefined) return "true or false";
  return many ? `${value.expected}, or a list of these` : value.expected;
}

function whyNot(name: string): string {
  if (name === "no-sandbox")
    return "a task cannot turn off the sandbox: give the flag to koda batch run or koda worker";
  if (name === "cd") return 'the work tree of a task is its own: name a directory in "dir"';
  if (Object.hasOwn(runFlags, name))
    return "a task cannot have this flag of koda exec: expected one for the model, permissions, limits or the answer's schema";
  const meant = nearest(name, Object.keys(flags));
  return `unknown option${meant === undefined ? ": expected a flag of koda exec without its dashes" : ` (did you mean "${meant}"?)`}`;
}

const paths: readonly string[] = ["allow-write", "allow-read", "deny-read", "output-schema"];

/** A path below the home directory is that of the machine that runs the task. */
function placed(name: string, text: string, directory: string): string {
  const isFree = !paths.includes(name) || text === "~" || text.startsWith("~/");
  return isFree ? text : resolve(directory, text);
}

/** Settled here, and no flags of the task's own koda. */
const notPassed: readonly string[] = ["output-schema", "max-cost", "max-tokens"];

type FlagTexts = readonly [name: string, texts: readonly string[]];

async function optionsOf(
  given: readonly FlagTexts[],
  { noSandbox, check }: Pick<OptionReading, "noSandbox" | "check">,
): Promise<TaskOptions | { problems: readonly string[] }> {
  try {
    const parsed = parseArguments("exec", [...given.flatMap(wordsOf), ...(noSandbox ? ["--no-sandbox"] : [])]);
    if (parsed === helpRequested) return { problems: [] };
    const { outputSchema, maxCost, maxTokens, model, net = "allowlist", allowNet: allow, denyNet: deny } = parsed;
    parseRules({ mode: net, allow, deny });
    if (model !== undefined) await check?.(parsed);
    return {
      args: given.filter(([name]) => !notPassed.includes(name)).flatMap(wordsOf),
      // A model of one's own server may be a path.
      provider: /^([^/]+)\//.exec(model ?? "")?.[1],
      ...(outputSchema !== undefined && { schema: await schemaOf(outputSchema) }),
      ...(maxCost !== undefined && { maxCost }),
      ...(maxTokens !== undefined && { maxTokens }),
    };
  } catch (error) {
    if (!(error instanceof KodaError)) throw error;
    return { problems: [error.message.replace(/\nSee koda .*$/s, "").replaceAll("\n", ". ")] };
  }
}

function wordsOf([name, texts]: FlagTexts): string[] {
  const flag = flags[name];
  if (flag?.value === undefined) return [`--${name}`];
  // A comma would begin another value.
  return texts.map((text) => `--${name}=${flag.many ? text.replaceAll(",", ",,") : text}`);
}

async function schemaOf(file: string): Promise<NonNullable<TaskOptions["schema"]>> {
  // It was JSON before it was checked.
  return JSON.parse(JSON.stringify(await readAnswerSchema(file)));
}
