import type { Mode } from "../config/config.ts";
import { KodaError } from "../errors.ts";
import { nearest } from "../nearest.ts";
import type { Claim } from "./claim.ts";

/**
 * A verdict, not a question. `asks` is set where a human may approve the call; whoever has one asks before the verdict
 * counts. `said` is the human's own word on it.
 */
export type Verdict = { allow: true } | { allow: false; rule: string; asks?: true; said?: string };

/** A call as the gate sees it; `preview` shows what it would change. */
export type GatedCall = {
  id: string;
  tool: string;
  input: unknown;
  claim: Claim;
  preview?: () => Promise<string> | undefined;
};

export type Gate = (call: GatedCall) => Verdict | Promise<Verdict>;

/** Which tools a run has, by name: all of them when none is allowed by name, and never one that is denied. */
type ToolChoice = { allow?: readonly string[]; deny?: readonly string[] };

/** The gate of an unattended run: what a human would have to be asked about is denied, by the rule's name. */
export function buildGate({
  mode,
  ...choice
}: { mode: Mode } & ToolChoice): (call: Pick<GatedCall, "tool" | "claim">) => Verdict {
  return ({ tool, claim }) => {
    const unavailable = toolRule(tool, choice);
    if (unavailable !== undefined) return { allow: false, rule: unavailable };
    const rule = claimRule(claim, mode);
    if (rule === undefined) return { allow: true };
    return { allow: false, rule, ...(isAskedAbout(claim, mode) && { asks: true }) };
  };
}

/** An approval of a path outside would open nothing: it is closed to the tool itself, and a flag opens it. */
function isAskedAbout({ effect, outside }: Claim, mode: Mode): boolean {
  return mode !== "plan" && effect !== "read" && outside === undefined;
}

/**
 * The tools that a run offers. A name that no tool has is a usage error, since a misspelt denial would deny nothing.
 * Tools for commands are not offered when no command can be run, though they may still be named.
 */
export function offeredTools<T extends { readonly name: string }>(
  tools: readonly T[],
  choice: ToolChoice,
  withoutCommands = false,
): readonly T[] {
  const names = tools.map(({ name }) => name);
  for (const name of choice.allow ?? []) mustExist("--allow-tool", name, names);
  for (const name of choice.deny ?? []) mustExist("--deny-tool", name, names);
  return tools.filter(({ name }) => mayUse(name, choice) && !(withoutCommands && runsCommands(name)));
}

/** True for a tool that the flags leave. */
export function mayUse(tool: string, choice: ToolChoice): boolean {
  return toolRule(tool, choice) === undefined;
}

/** `server__tool`, or `server__*` for all tools of an MCP server; these are known when the server is connected. */
export function namesServerTool(name: string): boolean {
  return /^[A-Za-z0-9_-]+?__./.test(name);
}

/** The tools that stand for those of all servers. */
const ofServers: readonly string[] = ["McpList", "McpRead", "McpTools", "McpCall"];

/** True when a name of a flag stands for this tool. */
export function standsFor(name: string, tool: string): boolean {
  return name === tool || (name.endsWith("__*") && tool.startsWith(name.slice(0, -1)));
}

/** The text that the model reads in place of a result, the same sentence for every rule. */
export function denialText(rule: string, said?: string): string {
  if (said !== undefined) return said === "" ? userDenied : `${userDenied} They said: ${said}`;

  return `Denied: ${rule.replace(/^outside: /, "")}. No one can approve it here, so do not retry. Find another way, or finish and say what could not be done.`;
}

const userDenied = "Denied: the user did not approve this call.";

function toolRule(tool: string, { allow = [], deny = [] }: ToolChoice): string | undefined {
  if (deny.some((name) => standsFor(name, tool))) return `tool ${tool} is not allowed (--deny-tool)`;
  const isListed = allow.length === 0 || allow.some((name) => standsFor(name, tool)) || isListing(tool, allow);
  return isListed ? undefined : `tool ${tool} is not allowed (--allow-tool)`;
}

/** A tool of a server that may be used can be looked for. */
function isListing(tool: string, allow: readonly string[]): boolean {
  return tool === "McpTools" && allow.some((name) => namesServerTool(name) || ofServers.includes(name));
}

/** The matrix of effect and mode. What is asked about in every mode is named by itself, the rest by the mode. */
function claimRule({ effect, outside, reason }: Claim, mode: Mode): string | undefined {
  if (effect === "destructive") return destructiveRule(reason ?? "it cannot be undone");
  // In mode plan nothing of the project is writable, so there "outside" would only hide the reason.
  if (outside !== undefined && (effect === "read" || mode !== "plan")) return outsideRule(outside);
  switch (effect) {
    case "read":
      return undefined;
    case "write":
    case "remote":
      return mode === "auto" ? undefined : `mode ${mode}: ${effect}`;
    default:
      effect satisfies never;
      return `mode ${mode}: unknown effect`;
  }
}

/** A tool that refuses by itself, because a path leads elsewhere than when the gate saw it, names the same rules. */
export const destructiveRule = (why: string): string => `destructive: ${why}`;
export const outsideRule = (why: string): string => `outside: ${why}`;

function runsCommands(tool: string): boolean {
  return tool === "Bash" || /^Task(List|Output|Stop)$/.test(tool);
}

function mustExist(flag: string, name: string, names: readonly string[]): void {
  if (names.includes(name) || namesServerTool(name) || ofServers.includes(name)) return;
  const meant = nearest(name, names);
  const hint = meant === undefined ? `the tools are ${names.join(", ")}` : `did you mean "${meant}"?`;
  throw new KodaError("usage", `${flag}: unknown tool "${name}" (${hint})`);
}
