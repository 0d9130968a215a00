import type { KodaError } from "../errors.ts";
import { nearest } from "../nearest.ts";
import { formatPath, isKeyName, namesBelow, placeBelow, type KeyPath } from "./keypath.ts";
import { keys, type KeyName } from "./schema.ts";

/** One value that somebody gave: checked, and still as it was written. */
export type Setting = { readonly path: KeyPath; readonly key: KeyName; readonly written: unknown };

/** Turns what is wrong with a value into the error of the file or flag it came from. */
export type Refuse = (problem: string) => KodaError;

/** Every value in what a file holds, or in the part of it at `path`; throws at the first that the schema does not know. */
export function settingsIn(value: unknown, refuse: Refuse, path: KeyPath = [], place = ""): Setting[] {
  if (isKeyName(place)) return [settingOf(value, refuse, path, place)];
  if (!isObject(value)) throw refuse(`${nameOf(path)} is ${shown(value)}, expected an object`);

  return Object.entries(value).flatMap(([name, inner]) => {
    const next = placeBelow(place, name);
    if (next === undefined) throw refuse(unknownKey(name, path, place));
    if (next === "providers.*") checkProviderName(name, refuse);
    if (next === "providers.*.headers.*") checkHeaderName(name, refuse);
    return settingsIn(inner, refuse, [...path, name], next);
  });
}

function settingOf(written: unknown, refuse: Refuse, path: KeyPath, key: KeyName): Setting {
  const { kind } = keys[key];
  if (kind.read(written) !== undefined) return { path, key, written };
  if (!kind.secret) throw refuse(`${nameOf(path)} is ${shown(written)}, expected ${kind.expected}`);
  throw refuse(`${nameOf(path)} is not ${kind.expected} (the value is not shown, it may be a secret)`);
}

function unknownKey(name: string, path: KeyPath, place: string): string {
  const known = namesBelow(place);
  const meant = nearest(name, known);
  const where = path.length === 0 ? "at the top level" : `in ${nameOf(path)}`;
  const hint = meant === undefined ? `the keys there are ${known.join(", ")}` : `did you mean "${meant}"?`;
  return `unknown key ${JSON.stringify(name)} ${where} (${hint})`;
}

/** `PROVIDER/MODEL` is cut at its first slash. */
function checkProviderName(name: string, refuse: Refuse): void {
  if (/^[^\s/]+$/.test(name)) return;
  throw refuse(`a provider cannot be named ${JSON.stringify(name)}, expected a name without slash or space`);
}

/** The headers that say how a request is sent are koda's own: a wrong one would break every request. */
const ownHeaders =
  /^(?:accept|accept-encoding|connection|content-.*|host|keep-alive|te|trailer|transfer-encoding|upgrade)$/i;

function checkHeaderName(name: string, refuse: Refuse): void {
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) throw refuse(`${JSON.stringify(name)} is not the name of a header`);
  if (ownHeaders.test(name)) throw refuse(`the header ${JSON.stringify(name)} is set by koda itself`);
}

function nameOf(path: KeyPath): string {
  return path.length === 0 ? "the top level" : `"${formatPath(path)}"`;
}

function shown(value: unknown): string {
  const json = JSON.stringify(value) ?? "nothing";
  return json.length <= 60 ? json : `${json.slice(0, 59)}…`;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
