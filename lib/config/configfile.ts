import { realpathSync } from "node:fs";
import { KodaError, unlessRefused } from "../errors.ts";
import { isBelow } from "../files/path.ts";
import { readRegularFile } from "../files/read.ts";
import { entriesIn, type ConfigEntry, type MakeError } from "./entries.ts";
import { isRecord } from "./json.ts";
import { decodeUtf8 } from "./utf8.ts";

/** A configuration is small, so a larger file is a mistake. */
const largestFile = 1024 * 1024;

/**
 * The entries of a file, none when it does not exist; messages call it `name`. A link out of `within` may lead to a
 * private file, and a message about a bad value would show a part of it.
 */
export async function readConfigFile(file: string, name: string, { within = "/" } = {}): Promise<ConfigEntry[]> {
  const fail = configFault(name);
  const real = unlessRefused(() => realpathSync(file));
  if (real !== undefined && !isBelow(real, within)) throw fail("it is a link out of the project");
  const text = readConfigText(real ?? file, fail, { isReal: real !== undefined });
  return text === undefined ? [] : entriesIn(await parseConfigText(text, fail), fail);
}

/** Makes errors about a file that messages call `name`. */
export function configFault(name: string): MakeError {
  return (problem) => new KodaError("config", `Cannot read config "${name}": ${problem}`);
}

/** The text of a file, undefined when it does not exist. With `isReal` no symlink is followed. */
export function readConfigText(file: string, fail: MakeError, options?: { isReal: boolean }): string | undefined {
  const bytes = readRegularFile(file, largestFile + 1, options);
  if (bytes === undefined) return undefined;
  if ("problem" in bytes) throw fail(bytes.problem);
  if (bytes.length > largestFile) throw fail("it is larger than 1 MiB");

  const text = decodeUtf8(bytes);
  if (text === undefined) throw fail("it is not UTF-8");
  return text;
}

export async function parseConfigText(text: string, fail: MakeError): Promise<unknown> {
  // Most runs have no file to parse and never load the parser.
  const { parseJsonc } = await import("./jsonc.ts");
  const parsed = parseJsonc(text);
  if (!parsed.ok) throw fail(parsed.problem);
  return withoutSchema(parsed.value);
}

/** `"$schema"` is for editors. */
function withoutSchema(value: unknown): unknown {
  if (!isRecord(value) || typeof value.$schema !== "string") return value;
  const { $schema: _, ...rest } = value;
  return rest;
}
