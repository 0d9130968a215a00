import { KodaError } from "../errors.ts";
import { add, put, type InForce } from "./inforce.ts";
import { isKeyName, parsePath, type KeyPath } from "./keypath.ts";
import { keys, type KeyName, type PlainKeyName, typedKeys } from "./schema.ts";
import { settingsIn, type Refuse, type Setting } from "./settings.ts";

/** Values of flags, read already; durations may be milliseconds, and a list is added to what the files say. */
export type Overrides = {
  readonly [K in PlainKeyName]?: { readonly value: unknown; readonly flag: `-${string}` } | undefined;
};

export function applyEnvironment(inForce: InForce, env: Readonly<Record<string, string | undefined>>): void {
  const model = env.KODA_MODEL ?? "";
  if (model === "") return;
  const refuse: Refuse = (problem) => new KodaError("config", `Cannot use KODA_MODEL: ${problem}`);
  put(inForce, settingsIn(model, refuse, ["model"], "model"), "environment KODA_MODEL");
}

/** One `--config KEY=VALUE`. */
export function applySet(inForce: InForce, set: string): void {
  put(inForce, settingsOf(set), "flag --config");
}

/**
 * True for a `--config` that may be printed again, because masking changes no value in it. A command never is: only its
 * user knows which of its arguments are secrets.
 */
export function isPrintable(set: string): boolean {
  return settingsOf(set).every(({ key, written }) => {
    const { kind } = typedKeys[key];
    return kind.mask === undefined || kind.mask(written) === written;
  });
}

/** The message does not repeat all of a `--config`: the value may be a secret in the wrong place. */
function settingsOf(set: string): Setting[] {
  const refuse: Refuse = (problem) => new KodaError("usage", `Cannot use --config: ${problem}`);
  const key = keyOf(set);
  if (key === undefined) throw refuse(`"${set}" is not KEY=VALUE, as in limits.max_turns=50`);
  const value = valueOf(set.slice(key.length + 1));
  if (value === undefined) throw refuse(`the value of "${key}" is not valid JSON`);
  return settingsIn(nested(parsePath(key), value), refuse);
}

/** A quoted name in a key may have an equals sign in it. */
function keyOf(set: string): string | undefined {
  return /^(?:"(?:[^"\\]|\\.)*"|[^="])+(?==)/.exec(set)?.[0];
}

/** A JSON value; a bare word is a text. What begins with a bracket or a quote is no bare word, but broken JSON. */
function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return /^\s*[[{"]/.test(text) ? undefined : text;
    throw error;
  }
}

function nested(path: KeyPath, value: unknown): unknown {
  return path.reduceRight((inner, name) => ({ [name]: inner }), value);
}

export function applyFlags(inForce: InForce, overrides: Overrides): void {
  for (const [name, override] of Object.entries(overrides)) {
    if (override !== undefined && isKeyName(name)) applyFlag(inForce, name, override.value, override.flag);
  }
}

function applyFlag(inForce: InForce, name: KeyName, value: unknown, flag: string): void {
  const { kind } = keys[name];
  const refuse: Refuse = (problem) => new KodaError("usage", `Cannot use ${flag}: ${problem}`);
  const [setting] = settingsIn(kind.write?.(value) ?? value, refuse, name.split("."), name);
  if (setting === undefined) return;

  if (kind.adds) add(inForce, setting, `flag ${flag}`);
  else put(inForce, [setting], `flag ${flag}`);
}
