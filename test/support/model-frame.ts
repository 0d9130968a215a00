import type { Wire } from "../../lib/config/config.ts";
import type { FinishReason, Usage } from "../../lib/model/model.ts";

/** A part of a scripted reply, in no wire's own form. */
export type Part =
  | { type: "text"; deltas: readonly string[] }
  | { type: "thinking"; deltas: readonly string[]; token?: string }
  | { type: "call"; tool: string; pieces: readonly string[]; id?: string }
  | Wait;

export type Wait = { type: "wait"; until: Promise<unknown> | (() => Promise<unknown>) };

/** The request that is answered: a reply is rendered for its wire. */
export type Asked = { wire: Wire; index: number; model: string; wantsUsage: boolean };

export type ReplyOptions = { usage?: Partial<Usage> | null; finish?: FinishReason };

export type Frames = (string | Wait)[];

export type Known = Exclude<Part, { type: "call" }> | (Extract<Part, { type: "call" }> & { id: string });

/** A frame of server-sent events. */
export function frame(value: unknown): string {
  return `data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`;
}
