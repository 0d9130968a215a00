import { readdirSync } from "node:fs";
import { join } from "node:path";
import { unlessRefused } from "../../errors.ts";
import { bytesAt, entryAt, type PresentEntry } from "../../files/entry.ts";

/** More files than any tool is configured by; the rest is left out. */
const mostFiles = 2_000;

/** Larger ones are told apart by their times. */
const mostHashed = 256 * 1024;

/** The files of other tools' configurations, each with its state: the same again after koda restored it. */
export type ConfigFiles = ReadonlyMap<string, string>;

export function listConfigFiles(configs: readonly string[]): ConfigFiles {
  const files = new Map<string, string>();
  const pending = [...configs];
  for (let path = pending.pop(); path !== undefined && files.size < mostFiles; path = pending.pop()) {
    const place = path;
    const entry = unlessRefused(() => entryAt(place));
    if (entry?.kind === "directory")
      pending.push(...(unlessRefused(() => readdirSync(place)) ?? []).map((name) => join(place, name)));
    else if (entry !== undefined && entry.kind !== "missing") files.set(path, stateOf(path, entry));
  }
  return files;
}

function stateOf(path: string, entry: PresentEntry): string {
  const { kind, mode, signature } = entry;
  const isHashed = (kind === "file" || kind === "symlink") && (signature?.size ?? Infinity) <= mostHashed;
  const bytes = isHashed ? unlessRefused(() => bytesAt(path, entry)) : undefined;
  if (bytes === undefined) return JSON.stringify(signature);
  return `${mode} ${new Bun.CryptoHasher("sha256").update(bytes).digest("hex")}`;
}

/** Those that were changed, made or removed between two lists. */
export function changedFiles(before: ConfigFiles, after: ConfigFiles): readonly string[] {
  return [...new Set([...before.keys(), ...after.keys()])].filter((path) => before.get(path) !== after.get(path));
}
