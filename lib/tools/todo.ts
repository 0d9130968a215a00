import type { JsonSchema } from "../model/model.ts";
import { type TodoItem, todoStates } from "../session/todo.ts";
import about from "./todo.md" with { type: "text" };
import { failed, succeeded, type Tool, type ToolContext, type ToolResult } from "./tool.ts";
import type { Claim } from "../trust/claim.ts";

type Input = { items: TodoItem[] };

const input = {
  type: "object",
  properties: {
    items: {
      type: "array",
      items: {
        type: "object",
        properties: {
          text: { type: "string", minLength: 1 },
          status: { enum: todoStates },
        },
        required: ["text", "status"],
        additionalProperties: false,
      },
    },
  },
  required: ["items"],
  additionalProperties: false,
} as const satisfies JsonSchema;

export const todoTool = { name: "TodoWrite", about, input, claim, run } satisfies Tool<Input>;

function claim(): Claim {
  return { effect: "read", writes: [] };
}

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
