import { type ApiKey, keySource } from "../model/providers.ts";
import type { Notice } from "./turn.ts";

/** Looks for the provider's key in what a tool returned; what is to be said about it, once. */
export type KeyWatch = (tool: string, text: string) => Notice | undefined;

/** A placeholder for a server without keys (`ollama`, `none`) is shorter, and stands in other texts by accident. */
const shortestKey = 16;

/**
 * Text of files and commands goes to the model and into all output unchanged: a masked text would be
 * edited as a masked text. So the user is told when that is the very key that this run uses.
 */
export function watchForKey(key: ApiKey | undefined): KeyWatch {
  if (key === undefined || key.value.length < shortestKey) return () => undefined;
  let isTold = false;
  return (tool, text) => {
    if (isTold || !text.includes(key.value)) return undefined;
    isTold = true;
    const message = `The API key from ${keySource(key)} is in what ${tool} returned: the model has read it, and the session and this output hold it. Hide the file that has it with --deny-read, and replace the key if others can see this.`;
    return { type: "notice", level: "warn", code: "key_exposed", message };
  };
}
