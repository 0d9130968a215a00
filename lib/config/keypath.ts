import { keys, type KeyName } from "./schema.ts";

/** The way to a value: `["providers", "my.corp", "base_url"]`, whose place in the schema is `providers.*.base_url`. */
export type KeyPath = readonly string[];

/** `providers."my.corp".base_url`: only a name with a dot or a quote in it needs quotes. */
export function formatPath(path: KeyPath): string {
  return path.map((name) => (/^[^."\s]+$/.test(name) ? name : JSON.stringify(name))).join(".");
}

/**
 * The path that a dotted key names. A name of the user's may have dots without quotes (`providers.my.corp.wire`) as long
 * as something known follows it; the shortest name that makes sense of the rest is meant.
 */
export function parsePath(dotted: string): KeyPath {
  const names = splitAtDots(dotted);
  return match("", names) ?? names;
}

/** What may follow a place (`limits`, `providers.*`); `*` for any name. Nothing follows a key itself. */
export function namesBelow(place: string): readonly string[] {
  const prefix = place === "" ? "" : `${place}.`;
  const below = Object.keys(keys).filter((key) => key.startsWith(prefix));
  return [...new Set(below.map((key) => key.slice(prefix.length).split(".", 1)[0] ?? ""))];
}

/** The place of a name below another one, or undefined when there is no such name. */
export function placeBelow(place: string, name: string): string | undefined {
  const below = namesBelow(place);
  const step = below.includes("*") ? "*" : below.find((known) => known === name);
  return step && (place === "" ? step : `${place}.${step}`);
}

export function isKeyName(place: string): place is KeyName {
  return Object.hasOwn(keys, place);
}

/** A quoted name stands as it is. */
function splitAtDots(dotted: string): string[] {
  const names = dotted.match(/"(?:[^"\\]|\\.)*"(?=\.|$)|[^.]+|(?<=^|\.)(?=\.|$)/g) ?? [];
  return names.map((name) => (name.length > 1 && name.startsWith('"') ? unquoted(name) : name));
}

function unquoted(name: string): string {
  return name.slice(1, -1).replace(/\\(.)/g, "$1");
}

function match(place: string, names: KeyPath): KeyPath | undefined {
  if (names.length === 0) return [];
  const isFree = namesBelow(place).includes("*");
  for (let taken = 1; taken <= names.length; taken++) {
    // The last name of a key takes no dots: what looks like one is more likely a misspelling of what may follow.
    if (taken > 1 && (!isFree || taken === names.length)) return undefined;
    const name = names.slice(0, taken).join(".");
    const next = placeBelow(place, name);
    const rest = next === undefined ? undefined : match(next, names.slice(taken));
    if (rest !== undefined) return [name, ...rest];
  }
  return undefined;
}
