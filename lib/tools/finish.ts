import type { JsonSchema } from "../model/model.ts";
import type { Claim } from "../trust/claim.ts";
import about from "./finish.md" with { type: "text" };
import { failed, inputOf, succeeded, type Tool, type ToolContext, type ToolResult } from "./tool.ts";

/** The end of a task, as the model declares it. */
export type Finish = { status: "done" | "blocked"; summary: string; output?: unknown };

export const finishName = "Finish";

const status = { enum: ["done", "blocked"] };
const summary = { type: "string", minLength: 1 };
const output = { description: "The answer, matching the JSON Schema of the task; needed with done" };

/** It changes nothing, and runs alone: after all other calls of its reply. */
const alone: Claim = { effect: "read", writes: "unknown" };

/** Offered with --finish required; it takes an output when the answer has to match a schema. */
export function finishTool(schema: JsonSchema | undefined): Tool<Finish> {
  const input = inputOf({ status, summary, ...(schema !== undefined && { output }) }, ["status", "summary"]);
  return { name: finishName, about, input, claim: () => alone, run };
}

async function run(end: Finish, { finish }: Pick<ToolContext, "finish">): Promise<ToolResult> {
  const objection = await finish(end);
  return objection === undefined ? succeeded("The task has ended.") : failed(objection);
}
