import { realpathSync } from "node:fs";
import { KodaError, unlessRefused } from "../errors.ts";
import { isBelow } from "../files/path.ts";
import { readRegularFile } from "../files/read.ts";
import { entriesIn, type ConfigEntry, type MakeError } from "./entries.ts";
import { decodeUtf8 } from "./utf8.ts";

/** A configuration is small, so a larger file is a mistake. */
const largestFile = 1024 * 1024;

/**
 * The entries of a file, none when it does not exist; messages call it `name`. A link out of `within` may lead to a
 * private file, and a message about a bad value would show a part of it.
 */
export async function readConfigFile(file: string, name: string, { within = "/" } = {}): Promise<ConfigEntry[]> {
  const fail: MakeError = (problem) => new KodaError("config", `Cannot read config "${name}": ${problem}`);
  const real = unlessRefused(() => realpathSync(file));
  if (real !== undefined && !isBelow(real, within)) throw fail("it is a link out of the project");
  const bytes = readRegularFile(real ?? file, largestFile + 1, { isReal: real !== undefined });
  if (bytes === undefined) return [];
  if ("problem" in bytes) throw fail(bytes.problem);
  if (bytes.length > largestFile) throw fail("it is larger than 1 MiB");

  const text = decodeUtf8(bytes);
  if (text === undefined) throw fail("it is not UTF-8");

  // Most runs have no file to parse and never load the parser.
  const { parseJsonc } = await import("./jsonc.ts");
  const parsed = parseJsonc(text);
  if (!parsed.ok) throw fail(parsed.problem);
  return entriesIn(parsed.value, fail);
}
