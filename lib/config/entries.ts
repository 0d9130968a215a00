import type { KodaError } from "../errors.ts";
import { excerptOfJson } from "./excerpt.ts";
import { isRecord } from "./json.ts";
import { formatPath, isKeyName, namesBelow, placeBelow, type KeyPath } from "./keypath.ts";
import { typedKeys, type KeyName } from "./schema.ts";
import { unknownKey } from "./unknownkey.ts";

/** A value from a file, a flag or a variable: checked, but not yet read. */
export type ConfigEntry = { readonly path: KeyPath; readonly key: KeyName; readonly raw: unknown };

/** Makes an error that names the source of a bad value: a file or a flag. */
export type MakeError = (problem: string) => KodaError;

/** The entries of a file's content, or of the part of it at `path`; throws at the first bad key or value. */
export function entriesIn(value: unknown, fail: MakeError, path: KeyPath = [], place = ""): ConfigEntry[] {
  if (isKeyName(place)) return [entryOf(value, fail, path, place)];
  if (!isRecord(value)) throw fail(notAnObject(value, path, place));

  return Object.entries(value).flatMap(([name, inner]) => {
    const next = placeBelow(place, name);
    if (next === undefined) {
      const at = path.length === 0 ? "at the top level" : `in ${nameOf(path)}`;
      throw fail(unknownKey(name, at, namesBelow(place)));
    }
    if (next === "providers.*") checkProviderName(name, fail);
    if (next.endsWith(".headers.*")) checkHeaderName(name, fail);
    if (next === "mcp.servers.*") checkServerName(name, fail);
    if (next === "mcp.servers.*.env.*") checkVariableName(name, fail);
    return entriesIn(inner, fail, [...path, name], next);
  });
}

function notAnObject(value: unknown, path: KeyPath, place: string): string {
  if (hasSecrets(place)) return `${nameOf(path)} is not an object ${unshown}`;
  return `${nameOf(path)} is ${excerptOfJson(value)}, expected an object`;
}

/** True where a key below may be a secret, so `["TOKEN=…"]` in place of the object may be one too. */
function hasSecrets(place: string): boolean {
  return Object.entries(typedKeys).some(([key, { type }]) => type.secret === true && key.startsWith(`${place}.`));
}

const unshown = "(the value is not shown, it may be a secret)";

function entryOf(raw: unknown, fail: MakeError, path: KeyPath, key: KeyName): ConfigEntry {
  const { type } = typedKeys[key];
  if (type.read(raw) !== undefined) return { path, key, raw };
  const fault = type.fault?.(raw, formatPath(path));
  if (fault !== undefined) throw fail(fault);
  if (!type.secret) throw fail(`${nameOf(path)} is ${excerptOfJson(raw)}, expected ${type.expected}`);
  throw fail(`${nameOf(path)} is not ${type.expected} ${unshown}`);
}

/** `PROVIDER/MODEL` is split at its first slash. */
function checkProviderName(name: string, fail: MakeError): void {
  if (/^[^\s/]+$/.test(name)) return;
  throw fail(`invalid provider name ${JSON.stringify(name)}: it may not contain a slash or a space`);
}

/** The name is the beginning of the names of its tools. */
export function checkServerName(name: string, fail: MakeError): void {
  if (/^[A-Za-z0-9_-]{1,32}$/.test(name) && !name.includes("__")) return;
  throw fail(
    `invalid MCP server name ${JSON.stringify(name)}: expected at most 32 letters, digits, "-" and "_", without "__"`,
  );
}

function checkVariableName(name: string, fail: MakeError): void {
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return;
  throw fail(`${JSON.stringify(name)} is not the name of an environment variable`);
}

/** Headers that koda sets itself: a wrong value would break every request. */
const ownHeaders =
  /^(?:accept|accept-encoding|connection|content-.*|host|keep-alive|te|trailer|transfer-encoding|upgrade)$/i;

function checkHeaderName(name: string, fail: MakeError): void {
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) throw fail(`invalid header name ${JSON.stringify(name)}`);
  if (ownHeaders.test(name)) throw fail(`the header ${JSON.stringify(name)} is set by koda itself`);
}

function nameOf(path: KeyPath): string {
  return path.length === 0 ? "the top level" : `"${formatPath(path)}"`;
}
