import { cutBefore, shortened } from "../session/graphemes.ts";
import { visibleLine } from "../visible.ts";
import type { Client, RequestOptions, ToolDefinition } from "./client.ts";
import { type PageParams, readPages, type ServerList, charactersIn } from "./pages.ts";

/** All that a server offers; kept while the server cannot be reached. */
export type ServerFeatures = {
  readonly tools: ServerTools;
  readonly instructions: string | undefined;
  readonly hasResources: boolean;
  readonly hasPrompts: boolean;
};

/** `faults`: those that cannot be used at all. */
type ServerTools = ServerList<ToolDefinition> & { readonly faults: readonly string[] };

type Asking = { signal: AbortSignal; timeout: number; isEnabled: (tool: string) => boolean };

/** Asks a connected server for all of them. */
export async function featuresOf(client: Client, { isEnabled, ...options }: Asking): Promise<ServerFeatures> {
  const { tools, resources, prompts } = client.getServerCapabilities() ?? {};
  const instructions = client.getInstructions()?.trim() || undefined;
  return {
    tools: tools === undefined ? { entries: [], faults: [] } : await toolsOf(client, { isEnabled, ...options }),
    instructions: instructions === undefined ? undefined : shortened(instructions, longestInstructions),
    hasResources: resources !== undefined,
    hasPrompts: prompts !== undefined,
  };
}

async function toolsOf(client: Client, { isEnabled, ...options }: Asking): Promise<ServerTools> {
  const faults: string[] = [];
  const tools = {
    readPage: async (params: PageParams, limits: RequestOptions) => {
      const { tools: entries, nextCursor } = await client.request({ method: "tools/list", ...params }, limits);
      return { entries, nextCursor };
    },
    keep: (tool: ToolDefinition) => {
      if (!isEnabled(tool.name)) return undefined;
      const used = usedOf(tool);
      if (charactersIn(used) <= longestTool) return copyOf(used);
      faults.push(toolFault(tool.name, `it is longer than ${longestTool} characters`));
      return undefined;
    },
  };
  return { ...(await readPages(tools, options)), faults };
}

/** All that koda uses of a tool. */
function usedOf({ name, title = "", description = title, inputSchema, annotations, execution }: ToolDefinition) {
  const about = description.slice(0, cutBefore(description, longestAbout));
  return { name, description: about, inputSchema, annotations, execution };
}

/** A piece of a long text keeps the whole of it in memory, unless it is a text of its own. */
function copyOf(tool: ReturnType<typeof usedOf>): ToolDefinition {
  return JSON.parse(JSON.stringify(tool)) as ToolDefinition;
}

export function toolFault(name: string, fault: string): string {
  return `"${visibleLine(name.slice(0, 100))}": ${fault}`;
}

const longestAbout = 4_000;
const longestTool = 68 * 1024;
/** They are in every request. */
const longestInstructions = 8_000;
