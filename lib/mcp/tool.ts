import { counted } from "../counted.ts";
import { messageOf } from "../errors.ts";
import { schemaFault } from "../engine/schemacheck.ts";
import type { JsonSchema } from "../model/model.ts";
import { failed, type Tool, type ToolContext, type ToolResult } from "../tools/tool.ts";
import { type Claim, noEffect } from "../trust/claim.ts";
import type { ToolDefinition } from "./client.ts";
import { toolFault } from "./features.ts";
import { toolName } from "./names.ts";
import { mostEntries } from "./pages.ts";
import { resultOf } from "./result.ts";
import type { Server } from "./server.ts";

/** A server's tools for the model, and what is wrong with those that cannot be offered. */
export async function serverTools(
  server: Server,
  taken: readonly Tool[],
): Promise<{ tools: readonly Tool[]; faults: readonly string[] }> {
  const tools = new Map<string, Tool>();
  const isTaken = (name: string) => tools.has(name) || taken.some((tool) => tool.name === name);
  const { entries = [], unread, faults: own = [] } = server.features?.tools ?? {};
  const faults = [...own];
  let room = longestTogether;
  for (const definition of entries.slice(0, mostEntries)) {
    const name = toolName(server.name, definition.name);
    const tool = toolOf(name, definition, server);
    const schema = JSON.stringify(tool.input).length;
    const length = tool.about.length + schema;
    const fault = isTaken(name) ? "it has the name of another" : await faultOf(tool.input, { schema, length, room });
    if (fault !== undefined) faults.push(toolFault(definition.name, fault));
    else {
      tools.set(name, tool);
      room -= length;
    }
  }
  const missing = entries.length - mostEntries;
  if (missing > 0) faults.push(`${counted(missing, "tool")} beyond the first ${mostEntries}`);
  if (unread !== undefined) faults.push(`tools ${unread}`);
  return { tools: [...tools.values()], faults };
}

/** A provider refuses the whole request for one bad schema. */
async function faultOf(
  input: JsonSchema,
  { schema, length, room }: { schema: number; length: number; room: number },
): Promise<string | undefined> {
  if (schema > longestSchema) return `its schema is longer than ${longestSchema} characters`;
  if (length > room) return `the server's tools together are longer than ${longestTogether} characters`;
  const fault = await schemaFault(input);
  return fault === undefined ? undefined : `its schema cannot be used: ${fault}`;
}

const longestSchema = 64 * 1024;
/** They are in every request: more would fill the window of most models. */
const longestTogether = 512 * 1024;

function toolOf(name: string, definition: ToolDefinition, server: Server): Tool<unknown> {
  const { description = "", inputSchema } = definition;
  return {
    name,
    about: description,
    input: inputSchema,
    isGuarded: true,
    ...(isReading(definition) && { again: ["read"] }),
    claim: () => claimOf(definition, server),
    run: async (input, context) => await run(definition.name, input, { server, context }),
  };
}

/**
 * The effect that the server itself declares. It is a guess: what a program can do is up to the sandbox. A user who
 * names a tool in the configuration has decided about it.
 */
function claimOf({ name, annotations = {} }: ToolDefinition, { name: server, config }: Server): Claim {
  if (isReading({ annotations })) return noEffect;
  const isNamed = config.enabledTools?.includes(name) === true;
  if (annotations.destructiveHint !== true || isNamed) return { effect: "remote", writes: "unknown" };
  const reason = `the MCP server "${server}" says that ${name} may destroy data; "enabled_tools" of the server allows a tool by its name`;
  return { effect: "destructive", writes: "unknown", reason };
}

/** Of hints that contradict each other the wider effect counts. */
function isReading({ annotations = {} }: Pick<ToolDefinition, "annotations">): boolean {
  return annotations.readOnlyHint === true && annotations.destructiveHint !== true;
}

type Place = { server: Server; context: ToolContext };

async function run(tool: string, input: unknown, { server, context }: Place): Promise<ToolResult> {
  const { signal, report } = context;
  try {
    const result = await server.call(tool, input, { context, onProgress: (text) => report("stdout", `${text}\n`) });
    return resultOf(result, context);
  } catch (error) {
    signal.throwIfAborted();
    return failed(`The MCP server "${server.name}" did not do it: ${messageOf(error)}`);
  }
}
