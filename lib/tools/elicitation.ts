import type { JsonSchema } from "../model/model.ts";

/** A question of an MCP server to the user: the fields of a form, or a page to visit. */
export type Elicitation = { server: string; message: string } & (
  { schema: JsonSchema } | { url: string; host: string }
);

export const elicitationDecisions = ["accept", "decline", "cancel"] as const;

/** `content` has the values of the fields. */
export type ElicitationAnswer = {
  action: (typeof elicitationDecisions)[number];
  content?: Record<string, unknown> | undefined;
};

/** Settles with the user's answer, and with `cancel` once the signal is aborted. */
export type Elicit = (asked: Elicitation, signal: AbortSignal) => Promise<ElicitationAnswer>;
