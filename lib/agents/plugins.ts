import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pluginParts, type PluginParts } from "../config/pluginfile.ts";
import { counted } from "../counted.ts";
import { KodaError, reasonOf } from "../errors.ts";
import { readRegularFile } from "../files/read.ts";
import { type DefinitionFile, type DefinitionRequest, findDefinitions, readDefinition } from "./places.ts";

/** A plugin: data, and programs that run in the sandbox. None of its code runs inside koda. */
type Plugin = PluginParts & {
  readonly name: string;
  readonly scope: "project" | "user";
  /** Real. */
  readonly directory: string;
  /** A hash of its files: it differs when anything in the plugin has changed. */
  readonly revision: string;
};

export type Plugins = { readonly list: readonly Plugin[]; readonly notices: readonly string[] };

export const noPlugins: Plugins = { list: [], notices: [] };

const pluginFile = "plugin.json";
const largestFile = 256 * 1024;

/** The plugins of a run, by name. Of two with the same name the first counts: the project's before the user's. */
export function findPlugins(request: DefinitionRequest): Plugins {
  const { files, notices: unread } = findDefinitions("plugins", (entry) => join(entry, pluginFile), request);
  const byName = new Map<string, Plugin>();
  const notices = [...unread];
  for (const file of files) {
    if (byName.has(file.entry)) continue;
    const plugin = readPlugin(file);
    if ("problem" in plugin) notices.push(`The plugin "${file.shown}" is not loaded: ${plugin.problem}`);
    else byName.set(plugin.name, plugin);
  }
  return { list: [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1)), notices };
}

function readPlugin(file: DefinitionFile): Plugin | { problem: string } {
  const read = readDefinition(file, largestFile);
  if ("problem" in read) return read;
  if (read.isCut) return { problem: `it is larger than ${largestFile / 1024} KiB` };
  const { scope, entry: name, directory } = file;
  try {
    const parts = pluginParts(read.text, { name, directory, scope });
    return { ...parts, name, scope, directory, revision: revisionOf(directory) };
  } catch (error) {
    if (!(error instanceof KodaError)) throw error;
    return { problem: error.message };
  }
}

const mostFiles = 1_000;
const mostBytes = 32 * 1024 * 1024;

/** Of all files below the directory, in order. Links are not followed, and count by nothing. */
function revisionOf(directory: string): string {
  const hasher = new Bun.CryptoHasher("sha256");
  const names = filesBelow(directory);
  let left = mostBytes;
  for (const name of names) {
    const bytes = readRegularFile(join(directory, name), left + 1, { isReal: true });
    if (bytes === undefined || "problem" in bytes) continue;
    left -= bytes.length;
    if (left < 0) throw new KodaError("config", `its files are larger than ${mostBytes / 1024 / 1024} MiB`);
    hasher.update(`${name}\0${bytes.length}\0`);
    hasher.update(bytes);
  }
  return hasher.digest("hex").slice(0, 16);
}

function filesBelow(directory: string): string[] {
  const found: string[] = [];
  const waiting = [""];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    for (const entry of entriesOf(join(directory, at))) {
      const path = join(at, entry.name);
      if (entry.isDirectory()) waiting.push(path);
      if (entry.isFile()) found.push(path);
    }
    if (found.length + waiting.length > mostFiles)
      throw new KodaError("config", `it has more than ${counted(mostFiles, "file")}`);
  }
  return found.sort();
}

function entriesOf(directory: string) {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch (error) {
    throw new KodaError("config", `"${directory}" cannot be read: ${reasonOf(error)}`);
  }
}
