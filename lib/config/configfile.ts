import { KodaError } from "../errors.ts";
import { readRegularFile } from "../files/read.ts";
import { settingsIn, type Refuse, type Setting } from "./settings.ts";
import { decodeUtf8 } from "./utf8.ts";

/** A configuration is small: more than this is some other file. */
const largestFile = 1024 * 1024;

/** What a file says, nothing when there is no file; `name` is what messages call it. */
export async function readConfigFile(file: string, name: string): Promise<Setting[]> {
  const refuse: Refuse = (problem) => new KodaError("config", `Cannot read config "${name}": ${problem}`);
  const bytes = readRegularFile(file, largestFile + 1);
  if (bytes === undefined) return [];
  if ("problem" in bytes) throw refuse(bytes.problem);
  if (bytes.length > largestFile) throw refuse("it is larger than 1 MiB");

  const text = decodeUtf8(bytes);
  if (text === undefined) throw refuse("it is not UTF-8");

  // Most runs have no file to parse and never load the parser.
  const { parseJsonc } = await import("./jsonc.ts");
  const parsed = parseJsonc(text);
  if (!parsed.ok) throw refuse(parsed.problem);
  return settingsIn(parsed.value, refuse);
}
