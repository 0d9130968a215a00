import { dirname, basename } from "node:path";
import { HeldDirectory } from "../files/held.ts";
import { realPaths } from "../files/real.ts";
import { putFile, replaceFile } from "../files/save.ts";
import { KodaError, reasonOf } from "../errors.ts";
import { configFault, parseConfigText, readConfigText } from "./configfile.ts";
import { entriesIn, type ConfigEntry } from "./entries.ts";
import type { KeyPath } from "./keypath.ts";

/**
 * Sets one value of a configuration file, or removes it (`undefined`); comments and formatting stay. `value` is given
 * the entries of before, and may throw. The file is replaced in one step; a new one is only for its user.
 */
export async function editConfigFile(
  file: string,
  { path, value }: { path: KeyPath; value: (entries: readonly ConfigEntry[]) => unknown },
): Promise<void> {
  const fail = configFault(file);
  // A link of the user's own, to where their settings are kept, stays a link.
  const real = realPaths(file).at(-1) ?? file;
  try {
    using directory = HeldDirectory.open(dirname(real), { create: true });
    const target = { directory, name: basename(real) };
    const old = directory.look(target.name);
    const text = readConfigText(real, fail) ?? "{}\n";
    const changed = value(entriesIn(await parseConfigText(text, fail), fail));
    const { withValue } = await import("./jsonc.ts");
    const content = Buffer.from(withValue(text, path, changed));
    if (old === undefined) putFile(target, content, { mode: 0o600 });
    else replaceFile(target, content, old);
  } catch (error) {
    if (error instanceof KodaError) throw error;
    throw new KodaError("config", `Cannot write "${file}": ${reasonOf(error)}`, { cause: error });
  }
}
