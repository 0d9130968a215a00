import { unlessAborted } from "../async/unlessaborted.ts";
import { noEffect } from "../trust/claim.ts";
import about from "./askuser.md" with { type: "text" };
import { failed, inputOf, succeeded, type Tool, type ToolContext, type ToolResult } from "./tool.ts";

type Input = { question: string; options?: readonly string[] };

/** Settles with the user's answer; undefined when there is none. */
export type AskUser = (question: { id: string } & Required<Input>) => Promise<string | undefined>;

export const askUserName = "AskUser";

const text = { type: "string", minLength: 1 };
const input = inputOf({ question: text, options: { type: "array", items: text, maxItems: 9 } }, ["question"]);

export function askUserTool(ask: AskUser): Tool<Input> {
  return { name: askUserName, about, input, claim: () => noEffect, run: (asked, context) => run(asked, context, ask) };
}

async function run(
  { question, options = [] }: Input,
  { call, signal }: Pick<ToolContext, "call" | "signal">,
  ask: AskUser,
): Promise<ToolResult> {
  const answer = await unlessAborted(ask({ id: call, question, options }), signal);
  return answer === undefined
    ? failed("The user did not answer: decide for yourself, and say how.")
    : succeeded(answer);
}
