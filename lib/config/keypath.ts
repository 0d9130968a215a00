import { keys, type KeyName } from "./schema.ts";

/** The names that lead to a value: `["providers", "my.corp", "base_url"]`, in the schema `providers.*.base_url`. */
export type KeyPath = readonly string[];

/** `providers."my.corp".base_url`: only a name with a dot or a quote in it needs quotes. */
export function formatPath(path: KeyPath): string {
  return path.map((name) => (/^[^."\s]+$/.test(name) ? name : JSON.stringify(name))).join(".");
}

/**
 * Parses a dotted key. A name of the user's may contain dots without quotes (`providers.my.corp.wire`) as long as a
 * known name follows; of several readings the one with the shortest name wins.
 */
export function parsePath(dotted: string): KeyPath {
  const names = splitAtDots(dotted);
  return match("", names) ?? names;
}

/** The names that may follow a place in the schema (`limits`, `providers.*`); `*` is any name. None follows a key. */
export function namesBelow(place: string): readonly string[] {
  const prefix = place === "" ? "" : `${place}.`;
  const below = Object.keys(keys).filter((key) => key.startsWith(prefix));
  return [...new Set(below.map((key) => key.slice(prefix.length).split(".", 1)[0] ?? ""))];
}

/** The place of a name below another place; undefined when the schema has no such name. */
export function placeBelow(place: string, name: string): string | undefined {
  const below = namesBelow(place);
  const step = below.includes("*") ? "*" : below.find((known) => known === name);
  return step && (place === "" ? step : `${place}.${step}`);
}

export function isKeyName(place: string): place is KeyName {
  return Object.hasOwn(keys, place);
}

/** A quoted name may contain dots. */
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
    // The last name takes no dots: it is more likely a misspelled key.
    if (taken > 1 && (!isFree || taken === names.length)) return undefined;
    const name = names.slice(0, taken).join(".");
    const next = placeBelow(place, name);
    const rest = next === undefined ? undefined : match(next, names.slice(taken));
    if (rest !== undefined) return [name, ...rest];
  }
  return undefined;
}
