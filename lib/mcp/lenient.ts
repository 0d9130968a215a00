import { isRecord, type JsonRecord } from "../config/json.ts";
import type { JSONRPCMessage } from "./client.ts";

/**
 * A message as the library takes it. It refuses a whole list of tools for one `null`, and a result whose structured
 * content is `null` together with its content, both of which servers send. Schemas of results are left out: koda has
 * no use for them, and to check a result by a server's own pattern may take for ever.
 */
export function lenient<T extends JSONRPCMessage>(message: T): T {
  if (!("result" in message) || !isRecord(message.result)) return message;
  const { structuredContent, tools, ...result } = message.result;
  if (structuredContent !== undefined && structuredContent !== null) Object.assign(result, { structuredContent });
  if (tools !== undefined) Object.assign(result, { tools: Array.isArray(tools) ? tools.map(lenientTool) : tools });
  return { ...message, result };
}

function lenientTool(tool: unknown): unknown {
  if (!isRecord(tool)) return tool;
  const { outputSchema: _, inputSchema = {}, annotations, ...rest } = withoutNulls(tool);
  return {
    ...rest,
    inputSchema: isRecord(inputSchema) ? { type: "object", ...inputSchema } : inputSchema,
    ...(isRecord(annotations) && { annotations: withoutNulls(annotations) }),
  };
}

function withoutNulls(record: JsonRecord): JsonRecord {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null));
}
