import { type TodoItem, todoStates } from "../session/todo.ts";
import { noEffect } from "../trust/claim.ts";
import about from "./todo.md" with { type: "text" };
import { failed, inputOf, succeeded, type Tool, type ToolContext, type ToolResult } from "./tool.ts";

type Input = { items: TodoItem[] };

const item = inputOf({ text: { type: "string", minLength: 1 }, status: { enum: todoStates } }, ["text", "status"]);
const input = inputOf({ items: { type: "array", items: item } }, ["items"]);

export const todoTool = { name: "TodoWrite", about, input, claim: () => noEffect, run } satisfies Tool<Input>;

async function run({ items }: Input, { todo }: Pick<ToolContext, "todo">): Promise<ToolResult> {
  const started = items.filter(({ status }) => status === "in_progress");
  if (started.length > 1) {
    const names = started.map(({ text }) => `"${text}"`).join(", ");
    return failed(`At most one item may be in_progress, not ${started.length} (${names}). The list was not changed.`);
  }
  if (!todo.replace(items)) return succeeded("The list is the same as before.");
  const done = items.filter(({ status }) => status === "done").length;
  return succeeded(`Noted: ${done} of ${items.length} done.`);
}
