import type { LoadedConfig, Origin } from "./config.ts";

/** One line of `koda doctor --config`: the value as it was written, and who wrote it. */
export type ConfigLine = { readonly key: string; readonly value: unknown; readonly origin: Origin };

/** A part of `skipped`, as a sentence: `.koda/config.json: egress.mode`. */
export function describeSkipped(skipped: string): string {
  const [file, key = ""] = skipped.split(": ");
  return `Ignored "${key}" in ${file}: project configuration can only tighten settings`;
}

export function describeConfig({ origins, written }: LoadedConfig): ConfigLine[] {
  return [...origins].map(([key, origin]) => ({ key, value: written.get(key), origin }));
}
