import { KodaError } from "../errors.ts";
import { appendEntry, setEntries, type EffectiveValues } from "./effective.ts";
import { entriesIn, type ConfigEntry, type MakeError } from "./entries.ts";
import { parseJson } from "./json.ts";
import { isKeyName, parsePath, type KeyPath } from "./keypath.ts";
import type { Env } from "./paths.ts";
import { keys, type KeyName, type PlainKeyName, typedKeys } from "./schema.ts";

/** Parsed values of flags: durations may be milliseconds, and lists are added to those of the files. */
export type Overrides = {
  readonly [K in PlainKeyName]?: { readonly value: unknown; readonly flag: `-${string}` } | undefined;
};

export function applyEnvironment(effective: EffectiveValues, env: Env): void {
  const model = env.KODA_MODEL ?? "";
  if (model === "") return;
  const fail: MakeError = (problem) => new KodaError("config", `Cannot use KODA_MODEL: ${problem}`);
  setEntries(effective, entriesIn(model, fail, ["model"], "model"), "environment KODA_MODEL");
}

/** One `--config KEY=VALUE`. */
export function applySet(effective: EffectiveValues, set: string): void {
  setEntries(effective, parseSet(set), "flag --config");
}

/**
 * True for a `--config` whose value needs no masking, so that it may be printed. The program of a key never may: only
 * its user knows which of its arguments are secrets.
 */
export function isPrintable(set: string): boolean {
  return parseSet(set).every(({ key, raw }) => {
    const { mask } = typedKeys[key].type;
    return mask === undefined || mask(raw) === raw;
  });
}

/** Messages repeat only the key: the value may be a secret. */
function parseSet(set: string): ConfigEntry[] {
  const fail: MakeError = (problem) => new KodaError("usage", `Cannot use --config: ${problem}`);
  const key = keyOf(set);
  if (key === undefined) throw fail(`"${set}" is not KEY=VALUE, as in limits.max_turns=50`);
  const value = valueOf(set.slice(key.length + 1));
  if (value === undefined) throw fail(`the value of "${key}" is not valid JSON`);
  return entriesIn(nested(parsePath(key), value), fail);
}

/** A quoted name in a key may contain an equals sign. */
function keyOf(set: string): string | undefined {
  return /^(?:"(?:[^"\\]|\\.)*"|[^="])+(?==)/.exec(set)?.[0];
}

/** A JSON value; a bare word is a string. Text that begins with a bracket or a quote is broken JSON instead. */
function valueOf(text: string): unknown {
  const value = parseJson(text);
  return value !== undefined || /^\s*[[{"]/.test(text) ? value : text;
}

function nested(path: KeyPath, value: unknown): unknown {
  return path.reduceRight((inner, name) => ({ [name]: inner }), value);
}

export function applyFlags(effective: EffectiveValues, overrides: Overrides): void {
  for (const [name, override] of Object.entries(overrides)) {
    if (override !== undefined && isKeyName(name)) applyFlag(effective, name, override.value, override.flag);
  }
}

function applyFlag(effective: EffectiveValues, name: KeyName, value: unknown, flag: string): void {
  const { type } = keys[name];
  const fail: MakeError = (problem) => new KodaError("usage", `Cannot use ${flag}: ${problem}`);
  const [entry] = entriesIn(type.write?.(value) ?? value, fail, name.split("."), name);
  if (entry === undefined) return;

  if (type.adds) appendEntry(effective, entry, `flag ${flag}`);
  else setEntries(effective, [entry], `flag ${flag}`);
}
