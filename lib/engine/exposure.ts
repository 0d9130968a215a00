import { type ApiKey, isRecognizable, keySource } from "../model/key.ts";
import type { Notice } from "./event.ts";

/** Looks for the provider's key in a tool's result; returns the warning the first time. */
export type KeyWatch = (tool: string, text: string) => Notice | undefined;

/**
 * Text of files and commands reaches the model unmasked: a masked file would be written back masked. So the user is
 * warned when that text contains the key of this run.
 */
export function watchForKey(key: ApiKey | undefined): KeyWatch {
  if (key === undefined || !isRecognizable(key)) return () => undefined;
  let isTold = false;
  return (tool, text) => {
    if (isTold || !text.includes(key.value)) return undefined;
    isTold = true;
    const message = `The API key from ${keySource(key)} is in the result of ${tool}: the model has read it, and the session and this output contain it. Hide its file with --deny-read, and replace the key if others can see this.`;
    return { type: "notice", level: "warn", code: "key_exposed", message };
  };
}
