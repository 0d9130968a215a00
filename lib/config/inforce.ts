import type { Origin } from "./config.ts";
import { formatPath, isKeyName } from "./keypath.ts";
import { keys } from "./schema.ts";
import type { Setting } from "./settings.ts";

/** The value in force for each key that has one, by its dotted path, and who gave it. */
export type InForce = Map<string, Setting & { readonly origin: Origin }>;

/** What holds when nobody says anything. */
export function standards(): InForce {
  const inForce: InForce = new Map();
  for (const [name, key] of Object.entries(keys)) {
    if (!("standard" in key) || !isKeyName(name)) continue;
    put(inForce, [{ path: name.split("."), key: name, written: key.standard }], "default");
  }
  return inForce;
}

export function put(inForce: InForce, settings: readonly Setting[], origin: Origin): void {
  for (const setting of settings) inForce.set(formatPath(setting.path), { ...setting, origin });
}

/** Adds to a list what somebody else says of it, and names both. */
export function add(inForce: InForce, setting: Setting, origin: Exclude<Origin, "default">): void {
  const before = inForce.get(formatPath(setting.path));
  if (before === undefined) return put(inForce, [setting], origin);
  const written = joined(before.written, setting.written);
  put(inForce, [{ ...setting, written }], before.origin === "default" ? origin : `${before.origin}, ${origin}`);
}

function joined(before: unknown, added: unknown): unknown {
  return Array.isArray(before) && Array.isArray(added) ? [...before, ...added] : added;
}
