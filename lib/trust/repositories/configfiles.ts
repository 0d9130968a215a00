import { readdirSync } from "node:fs";
import { join } from "node:path";
import { unlessRefused } from "../../errors.ts";
import { statsAt } from "./identity.ts";

/** More files than any tool is configured by; the rest is left out. */
const mostFiles = 2_000;

/** The files of other tools' configurations, each with what is different after any change. */
export type ConfigFiles = ReadonlyMap<string, string>;

export function listConfigFiles(configs: readonly string[]): ConfigFiles {
  const files = new Map<string, string>();
  const pending = [...configs];
  for (let path = pending.pop(); path !== undefined && files.size < mostFiles; path = pending.pop()) {
    const directory = path;
    const stats = unlessRefused(() => statsAt(directory));
    if (stats === undefined) continue;
    const { dev, ino, size, mode, mtimeNs, ctimeNs } = stats;
    if (!stats.isDirectory()) files.set(path, `${dev}:${ino}:${size}:${mode}:${mtimeNs}:${ctimeNs}`);
    else pending.push(...(unlessRefused(() => readdirSync(directory)) ?? []).map((name) => join(directory, name)));
  }
  return files;
}

/** Those that were changed, made or removed between two lists. */
export function changedFiles(before: ConfigFiles, after: ConfigFiles): readonly string[] {
  return [...new Set([...before.keys(), ...after.keys()])].filter((path) => before.get(path) !== after.get(path));
}
