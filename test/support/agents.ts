import { type Entry, say } from "./model-reply.ts";
import type { ModelRequestSeen, Script } from "./model-server.ts";

type Part = readonly Entry[] | ((request: ModelRequestSeen, index: number) => Entry | Promise<Entry>);

/**
 * A script for several conversations at once: the replies by a word of the user's prompt, or of the agent's, in the
 * order of that conversation's own requests. The last prompt that has one of the words counts, so a fork is a
 * conversation of its own.
 */
export function scriptFor(parts: Readonly<Record<string, Part>>): Script {
  const asked = new Map<string, number>();
  return async (request) => {
    const prompts = request.lines.filter(({ role }) => role === "user").map(({ text = "" }) => text);
    const word = Object.keys(parts)
      .map((word) => ({ word, at: prompts.findLastIndex((text) => text.includes(word)) }))
      .filter(({ at }) => at !== -1)
      .sort((a, b) => b.at - a.at)[0]?.word;
    const part = word === undefined ? undefined : parts[word];
    if (word === undefined || part === undefined) return say(`No script for ${prompts.at(-1)}`);
    const index = asked.get(word) ?? 0;
    asked.set(word, index + 1);
    return typeof part === "function" ? await part(request, index) : part[index];
  };
}
