import { shortened } from "../session/graphemes.ts";
import type { Client, ToolDefinition } from "./client.ts";

/** All that a server offers; kept while the server cannot be reached. */
export type ServerFeatures = {
  readonly tools: readonly ToolDefinition[];
  readonly instructions: string | undefined;
  readonly hasResources: boolean;
  readonly hasPrompts: boolean;
};

type Asking = { signal: AbortSignal; timeout: number };

/** Asks a connected server for all of them, page after page. */
export async function featuresOf(client: Client, asking: Asking): Promise<ServerFeatures> {
  const { tools: hasTools, resources, prompts } = client.getServerCapabilities() ?? {};
  const tools =
    hasTools === undefined ? [] : (await client.listTools(undefined, { ...asking, cacheMode: "refresh" })).tools;
  const instructions = client.getInstructions()?.trim() || undefined;
  return {
    tools,
    instructions: instructions === undefined ? undefined : shortened(instructions, longestInstructions),
    hasResources: resources !== undefined,
    hasPrompts: prompts !== undefined,
  };
}

/** They are in every request. */
const longestInstructions = 8_000;
