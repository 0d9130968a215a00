import type { Origin } from "./config.ts";
import type { ConfigEntry } from "./entries.ts";
import { formatPath, isKeyName } from "./keypath.ts";
import { keys } from "./schema.ts";

/** The effective value of each key that has one, by dotted path, with its origin. */
export type EffectiveValues = Map<string, ConfigEntry & { readonly origin: Origin }>;

export function defaultValues(): EffectiveValues {
  const effective: EffectiveValues = new Map();
  for (const [name, key] of Object.entries(keys)) {
    if (!("default" in key) || !isKeyName(name)) continue;
    setEntries(effective, [{ path: name.split("."), key: name, raw: key.default }], "default");
  }
  return effective;
}

export function setEntries(effective: EffectiveValues, entries: readonly ConfigEntry[], origin: Origin): void {
  for (const entry of entries) effective.set(formatPath(entry.path), { ...entry, origin });
}

/** Appends to a list, whose origin then names both sources. */
export function appendEntry(effective: EffectiveValues, entry: ConfigEntry, origin: Exclude<Origin, "default">): void {
  const before = effective.get(formatPath(entry.path));
  if (before === undefined) return setEntries(effective, [entry], origin);
  const raw = Array.isArray(before.raw) && Array.isArray(entry.raw) ? [...before.raw, ...entry.raw] : entry.raw;
  setEntries(effective, [{ ...entry, raw }], before.origin === "default" ? origin : `${before.origin}, ${origin}`);
}
