import { z } from "zod";
import { todoStates } from "../../session/todo.ts";
import { eventFields } from "./fields.ts";

const { count } = eventFields;

const diff = z
  .strictObject({
    type: z.literal("diff"),
    files: z
      .array(
        z.strictObject({
          path: z.string().describe("Relative to the project"),
          kind: z.enum(["add", "update", "delete"]).describe("What happened to it"),
          added: count.nullable().describe("Lines added; null for a binary file"),
          removed: count.nullable().describe("Lines removed; null for a binary file"),
        }),
      )
      .describe("The files that differ"),
    patch: z.string().describe("A patch for `git apply`"),
  })
  .describe("What the turn changed in the project");

const todo = z
  .strictObject({
    type: z.literal("todo"),
    items: z
      .array(
        z.strictObject({ text: z.string().describe("The step"), status: z.enum(todoStates).describe("Its state") }),
      )
      .describe("The whole list"),
  })
  .describe("The model changed its list of steps");

const egress = z
  .strictObject({
    type: z.literal("egress"),
    via: z
      .enum(["http", "socks", "fetch", "connect"])
      .describe(
        "`http` and `socks`: a proxy; `fetch`: a tool or an MCP server; `connect`: a system call past the proxies",
      ),
    host: z.string().describe("The host"),
    port: count.describe("The port"),
    verdict: z
      .enum(["allowed", "refused", "failed"])
      .describe("`refused`: the rules do not allow it; `failed`: the network did not"),
    reason: z.string().optional().describe("Why; absent when it was allowed"),
    tool: z.string().optional().describe("The id of the call that made the attempt, if known"),
  })
  .describe("An attempt to connect");

const notice = z
  .strictObject({
    type: z.literal("notice"),
    level: z.enum(["info", "warn", "error"]).describe("How important it is"),
    code: z.string().describe("The kind of notice, for scripts"),
    message: z.string().describe("The notice"),
  })
  .describe("Something that people should know");

export const progressEvents = [diff, todo, egress, notice] as const;
