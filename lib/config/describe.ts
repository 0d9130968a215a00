import type { LoadedConfig, Origin } from "./config.ts";

/** One line of `koda doctor --config`: the value as it is written in a file, and where it comes from. */
export type ConfigLine = { readonly key: string; readonly value: unknown; readonly origin: Origin };

export function describeConfig({ origins, display }: LoadedConfig): ConfigLine[] {
  return [...origins].map(([key, origin]) => ({ key, value: display.get(key), origin }));
}

/** An item of `LoadedConfig.skipped` as a sentence. */
export function describeSkipped(skipped: string): string {
  const [file, key = ""] = skipped.split(": ");
  return `Ignored "${key}" in ${file}: project configuration can only tighten settings`;
}
