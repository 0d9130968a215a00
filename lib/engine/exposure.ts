import { type ApiKey, isRecognizable, keySource } from "../model/key.ts";
import type { Notice } from "./event.ts";

/** Looks for a provider's key in a tool's result; returns the warning the first time. */
export type KeyWatch = (tool: string, text: string) => Notice | undefined;

/**
 * Text of files and commands reaches the model unmasked: a masked file would be written back masked. So the user is
 * warned when that text contains a key of this run. An agent that starts later may add one to `keys`.
 */
export function watchForKeys(keys: ReadonlySet<ApiKey>): KeyWatch {
  const told = new Set<string>();
  return (tool, text) => {
    const isNews = (key: ApiKey) => isRecognizable(key) && !told.has(key.value) && text.includes(key.value);
    const key = [...keys].find(isNews);
    if (key === undefined) return undefined;
    told.add(key.value);
    const message = `The API key from ${keySource(key)} is in the result of ${tool}: the model has read it, and the session and this output contain it. Hide its file with --deny-read, and replace the key if others can see this.`;
    return { type: "notice", level: "warn", code: "key_exposed", message };
  };
}
