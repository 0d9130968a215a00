import { resolve } from "node:path";
import type { McpPlan } from "./mcp-program.ts";
import { call, type Entry, say } from "./model-reply.ts";
import type { Script } from "./model-server.ts";

/** The configuration of a server that does what the plan says. Where it is not required, a run may begin without it. */
export function serverOf(plan: McpPlan, more: Record<string, unknown> = {}): Record<string, unknown> {
  const program = resolve("test/support/mcp-program.ts");
  return { command: process.execPath, args: [program, JSON.stringify(plan)], required: true, ...more };
}

/** The model says the first replies, then waits until a request offers the tool, and says the others. */
export function onceOffered(tool: string, first: readonly Entry[], others: readonly Entry[]): Script {
  let from: number | undefined;
  return ({ raw }, index) => {
    if (index < first.length) return first[index];
    if (raw.includes(`"${tool}"`)) from ??= index;
    return from === undefined ? call("Bash", { command: `sleep 0.1; echo ${index}` }) : others[index - from];
  };
}

/** The model makes the call again and again, until its result has the text. */
export function untilSaid(text: string, first: readonly Entry[], again: (index: number) => Entry): Script {
  let isSaid = false;
  return ({ lines }, index) => {
    if (index < first.length) return first[index];
    isSaid ||= lines.at(-1)?.text?.includes(text) === true;
    if (isSaid) return say("Done.");
    return (index - first.length) % 2 === 0 ? again(index) : call("Bash", { command: `sleep 0.1; echo ${index}` });
  };
}
