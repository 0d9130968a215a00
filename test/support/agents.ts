import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Line } from "./koda.ts";
import { call, type Entry, say } from "./model-reply.ts";
import type { ModelRequestSeen, Script } from "./model-server.ts";
import type { Place } from "./place.ts";

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

/** A call that starts an agent. */
export function invoke(agent: string, prompt: string, more: object = {}) {
  return call("InvokeAgent", { agent, prompt, ...more });
}

type AgentLine = Extract<Line, { type: "agent" }>;

/** The events of all agents, or of one. */
export function agentEvents(events: readonly Line[], id?: string) {
  return events
    .filter((event): event is AgentLine => event.type === "agent" && (id === undefined || event.agent.id === id))
    .map(({ event }) => event);
}

/** The results of calls in a request, in their order. */
export function resultsIn(request: Pick<ModelRequestSeen, "lines"> | undefined): (string | undefined)[] {
  return request?.lines.filter(({ role }) => role === "tool").map(({ text }) => text) ?? [];
}

/** Writes a definition of the user's own. */
export function defineAgent(
  { home }: Pick<Place, "home">,
  name: string,
  definition: string | Readonly<Record<string, string>>,
): void {
  const directory = join(home, ".config/koda/agents");
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, `${name}.md`), typeof definition === "string" ? definition : fileOf(name, definition));
}

function fileOf(name: string, fields: Readonly<Record<string, string>>): string {
  const lines = Object.entries({ name, description: name, ...fields }).map(([key, value]) => `${key}: ${value}`);
  return `---\n${lines.join("\n")}\n---\nYou are an agent.\n`;
}
