import { z } from "zod";
import { modes, networks, wires } from "../../config/config.ts";
import { eventFields } from "./fields.ts";

const { count, server } = eventFields;

export const startSchema = z
  .strictObject({
    type: z.literal("session.start"),
    session: z.string().describe("The id of the session"),
    root: z
      .string()
      .describe("The first session of its line of forks and agents; the same as `session` when it is neither"),
    parent: z
      .string()
      .optional()
      .describe("The session that it was forked from, or that of the conversation that started the agent"),
    title: z.string().describe("The session's title, from its first prompt"),
    source: z.enum(["new", "resume", "fork", "agent"]).describe("How the session began"),
    resumed: z.boolean().describe("Whether items were recorded before: its own, or those it was forked from"),
    version: z.string().describe("The version of koda"),
    model: z.string().describe("The model's name at the provider"),
    provider: z.string().describe("The provider's name"),
    wire: z.enum(wires).describe("The protocol"),
    effort: z
      .enum(["low", "medium", "high"])
      .optional()
      .describe("The reasoning effort that is sent; absent when the provider decides"),
    base_url: z
      .string()
      .nullable()
      .describe("The provider's address, without a query; null when none is asked: for the demo and for a replay"),
    cwd: z.string().describe("The project's root"),
    mode: z.enum(modes).describe("The calls that may run without approval"),
    agent: z.string().optional().describe("The agent that the run is (`--agent`)"),
    sandbox: z
      .strictObject({
        backend: z.string().describe("`namespaces`, `bwrap`, `landlock` or `none`"),
        filesystem: z.string().describe("`confined`, `open`, or `no commands` where none can run"),
        network: z.string().describe("`proxies`, `none`, `open` or `no commands`"),
        notes: z.array(z.string()).describe("What this sandbox cannot guarantee, and why a stronger one is missing"),
      })
      .describe("How commands are confined"),
    egress: z
      .strictObject({
        mode: z.enum(networks).describe("`--net`"),
        http_port: count.nullable().describe("The port of the HTTP proxy; null without one"),
        socks_port: count.nullable().describe("The port of the SOCKS5 proxy; null without one"),
        allow: z.array(z.string()).describe("Hosts that are allowed"),
        deny: z.array(z.string()).describe("Hosts that are denied"),
      })
      .describe("The hosts that commands may reach"),
    tools: z.array(z.string()).describe("The names of the tools that the model is offered"),
    mcp: z.array(server).describe("The MCP servers"),
    instructions: z.array(z.string()).describe("Files whose text was given to the model"),
    skills: z.array(z.string()).describe("The names of the skills that the model can load"),
    plugins: z
      .array(z.strictObject({ name: z.string(), version: z.string(), revision: z.string() }))
      .describe("The plugins in use; the revision differs when any of a plugin's files has changed"),
    skipped: z.array(z.string()).describe("Settings and files of the project that were ignored"),
    limits: z.record(z.string(), z.number()).describe("The limits of the run; the names tell the units"),
  })
  .describe("Always the first event of a session");
