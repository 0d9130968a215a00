import { z } from "zod";
import { executableKinds } from "../../worktree/executable.ts";
import { eventFields } from "./fields.ts";

const { count, figures, failure, server } = eventFields;

export const endSchema = z
  .strictObject({
    type: z.literal("end"),
    status: z.enum(["done", "failed", "limit", "cancelled"]).describe("How the run ended"),
    exit: count.describe("The exit code of the process"),
    error: failure.optional().describe("The failure; absent when `status` is `done`"),
    incomplete: z
      .array(z.string())
      .optional()
      .describe("Why the answer may not be the end of the task, although the model stopped there"),
    session: z.string().nullable().describe("The session; null when the run failed before there was one"),
    text: z.string().describe("The answer"),
    output: z
      .unknown()
      .optional()
      .describe("The answer that matches `--output-schema`, or the findings of `koda review`"),
    usage: z
      .strictObject({
        ...figures.shape,
        cost_usd: z.number().nonnegative().optional().describe("The cost of the run; absent when unknown"),
      })
      .describe("Of the run, with its agents"),
    tools: z
      .strictObject({
        ok: count.describe("Calls that worked"),
        failed: count.describe("Calls that failed"),
        denied: count.describe("Calls that were denied"),
      })
      .describe("The calls of the run, each counted once"),
    files_changed: count.describe("The number of files that the run changed in the project"),
    executable_changes: z
      .array(z.strictObject({ path: z.string(), kind: z.enum(executableKinds) }))
      .describe(
        "Changed files that other programs run or obey: settings of editors and agents, hooks, workflows of CI services",
      ),
    agents: z
      .strictObject({
        ok: count.describe("Agents that finished"),
        failed: count.describe("Agents that failed"),
        cancelled: count.describe("Agents that were stopped"),
      })
      .optional()
      .describe("The agents that the run started; absent when there were none"),
    mcp: z.array(server).optional().describe("The MCP servers that were never connected; absent when there are none"),
    verify: z
      .strictObject({
        command: z.string().describe("The command"),
        passed: z.boolean().describe("Whether it passed"),
        attempts: count.describe("How often it ran: 0 when the turn ended without an answer to verify"),
      })
      .optional()
      .describe("The outcome of `--verify`"),
    duration_ms: z.number().nonnegative().describe("How long the run took"),
    resume: z
      .string()
      .nullable()
      .describe(
        "The command line that continues this session; after a complete turn it needs a prompt. Null when nothing was kept",
      ),
  })
  .describe("Always the last event, exactly once, whatever happens");

export const agentEndSchema = z
  .strictObject({
    type: z.literal("end"),
    status: endSchema.shape.status,
    error: endSchema.shape.error,
    incomplete: endSchema.shape.incomplete,
    session: z.string().describe("The session of the agent"),
    text: z.string().describe("The answer"),
    output: endSchema.shape.output,
    usage: endSchema.shape.usage,
    tools: endSchema.shape.tools,
    duration_ms: endSchema.shape.duration_ms,
  })
  .describe("The end of an agent; its changes are a part of the run's");
