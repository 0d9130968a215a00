import { resolve } from "node:path";
import type { McpPlan } from "./mcp-program.ts";

/** The configuration of a server that does what the plan says. */
export function serverOf(plan: McpPlan, more: Record<string, unknown> = {}): Record<string, unknown> {
  const program = resolve("test/support/mcp-program.ts");
  return { command: process.execPath, args: [program, JSON.stringify(plan)], ...more };
}
