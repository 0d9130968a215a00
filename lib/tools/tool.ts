import type { Refusals } from "../egress/refusals/refusals.ts";
import type { WayOut } from "../egress/wayout.ts";
import type { ImagePart, TextPart } from "../model/message.ts";
import type { JsonSchema } from "../model/model.ts";
import type { Policy } from "../sandbox/policy/policy.ts";
import type { FileLog } from "../session/files.ts";
import type { SkillText } from "../session/item.ts";
import type { OutputStore } from "../session/outputs.ts";
import type { Recall } from "../session/recall.ts";
import type { TodoList } from "../session/todo.ts";
import type { Tasks } from "../shell/background.ts";
import type { Shell } from "../shell/shell.ts";
import type { Claim, Effect } from "../trust/claim.ts";
import type { AgentCalls } from "./agentcalls.ts";
import type { Elicit } from "./elicitation.ts";
import type { Finish } from "./finish.ts";

export type ToolResult = {
  ok: boolean;
  /** The text and images that the model reads. */
  parts: readonly (TextPart | ImagePart)[];
  exitCode?: number;
  signal?: string;
  timedOut?: boolean;
  /** Of a command: whether the sandbox could be set up for it. */
  confined?: boolean;
  /** Of a command: the sandbox's refusal, for people; the model reads it in `parts`. */
  hint?: string;
  /** The id under which the whole output is stored, when the model was shown less than all of it. */
  output?: string;
  /** Set when the tool itself refused on a rule, as the gate would have: counted as denied, not as failed. */
  denied?: string;
  /** The session of the agent that the call started, or asked about. */
  agent?: string;
  /** The id of that agent, when it works in the background. */
  background?: string;
  /** The skill that it loaded: the model reads its text after the result. */
  skill?: SkillText;
};

/** Everything that one call may use, the conversation's parts among it; tools hold no state of their own. */
export type ToolContext = {
  /** The call's id. */
  call: string;
  signal: AbortSignal;
  policy: Policy;
  shell: Shell;
  /** Variables of this call's own for its commands. */
  variables(): Readonly<Record<string, string>>;
  tasks: Tasks;
  agents: AgentCalls;
  /** The rules for a tool's own connections; commands have the proxies. */
  egress: WayOut;
  files: FileLog;
  outputs: OutputStore;
  recall: Recall;
  /** Requests that the proxies refused. */
  refusals: Pick<Refusals, "lastOf">;
  todo: TodoList;
  /** Asks the user in the name of an MCP server; absent where the user cannot be asked. */
  elicit?: Elicit | undefined;
  /** Ends the task, or returns what speaks against that. */
  finish(end: Finish): Promise<string | undefined>;
  /** The model's window, in tokens: listings are capped by it. */
  contextWindow: number;
  /** Shows output as it comes; it is for people, the model reads the result. */
  report(stream: "stdout" | "stderr", text: string): void;
};

/** The part that a claim may use: no call is running yet. */
export type ClaimContext = Pick<ToolContext, "policy" | "files"> & { readonly shell: Pick<Shell, "confined"> };

type PreviewContext = Pick<ToolContext, "policy" | "files" | "signal">;

/**
 * Input is checked against `input` before `claim` and `run` see it, so both may trust its type. A result that the
 * model can act on is returned with `ok: false`; a throw is a defect (or the abort).
 */
export type Tool<Input = never> = {
  readonly name: string;
  /** The tool that is offered to other models in place of this one. */
  readonly twin?: string;
  /** The model-facing text, from the .md file beside the tool. */
  readonly about: string;
  readonly input: JsonSchema;
  /** The effects of calls that can be made again for the same result: then the result need not be kept for long. */
  readonly again?: readonly Effect[];
  /** Set for a tool that stops by itself after an abort: it is waited for this long before it is abandoned. */
  readonly graceMs?: number;
  /** Set for a tool whose claim is a guess: each call is guarded like one that writes. */
  readonly isGuarded?: true;
  /** The tool that a call is passed on to, with its input. */
  target?(input: Input): { tool: Tool; input: unknown } | { mistake: string };
  /** A promise where judging takes code that is better loaded late. */
  claim(input: Input, context: ClaimContext): Claim | Promise<Claim>;
  /** The change that the call would make, for a human who is asked; only where the input does not show it. */
  preview?(input: Input, context: PreviewContext): Promise<string>;
  run(input: Input, context: ToolContext): Promise<ToolResult>;
};

/** The schema of an object with these properties and no others. */
export function inputOf(properties: JsonSchema, required: readonly string[] = []): JsonSchema {
  return { type: "object", properties, ...(required.length > 0 && { required }), additionalProperties: false };
}

export const succeeded = (text: string): ToolResult => ({ ok: true, parts: [{ type: "text", text }] });
export const failed = (text: string): ToolResult => ({ ok: false, parts: [{ type: "text", text }] });

export function resultText({ parts }: ToolResult): string {
  return parts.map((part) => (part.type === "text" ? part.text : `[${part.mime} image]`)).join("");
}
