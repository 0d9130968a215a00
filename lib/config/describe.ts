import type { LoadedConfig, Origin } from "./config.ts";

/** One line of `koda doctor --config`: the value as it was written, and who wrote it. */
export type ConfigLine = { readonly key: string; readonly value: unknown; readonly origin: Origin };

export function describeConfig({ origins, written }: LoadedConfig): ConfigLine[] {
  return [...origins].map(([key, origin]) => ({ key, value: written.get(key), origin }));
}
