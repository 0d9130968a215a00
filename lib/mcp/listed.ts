import { nearest } from "../nearest.ts";
import { failed, inputOf, succeeded, type Tool } from "../tools/tool.ts";
import { noEffect } from "../trust/claim.ts";

/**
 * Two tools in the place of many: one lists and describes them, one passes a call on. The tools behind them are judged
 * as if they were called by themselves.
 */
export function listedTools(tools: readonly Tool[]): readonly Tool[] {
  return tools.length === 0 ? [] : [describingTool(tools), callingTool(tools)];
}

function describingTool(tools: readonly Tool[]): Tool<{ tool?: string }> {
  return {
    name: "McpTools",
    about: `Lists the ${tools.length} tools of MCP servers; with tool, describes that one with the schema of its arguments.`,
    input: inputOf({ tool: { type: "string" } }),
    claim: () => noEffect,
    async run({ tool: name }) {
      if (name === undefined)
        return succeeded(tools.map((tool) => `${tool.name}: ${firstLine(tool.about)}`).join("\n"));
      const tool = tools.find((one) => one.name === name);
      if (tool === undefined) return failed(unknownTool(name, tools));
      return succeeded(`${tool.name}: ${tool.about}\n\narguments: ${JSON.stringify(tool.input)}`);
    },
  };
}

function callingTool(tools: readonly Tool[]): Tool<{ tool: string; arguments?: Record<string, unknown> }> {
  return {
    name: "McpCall",
    about: "Calls a tool of an MCP server, as McpTools describes it.",
    input: inputOf({ tool: { type: "string" }, arguments: { type: "object" } }, ["tool"]),
    target({ tool: name, arguments: input = {} }) {
      const tool = tools.find((one) => one.name === name);
      return tool === undefined ? { mistake: unknownTool(name, tools) } : { tool, input };
    },
    // Neither is reached: a call has a target, or is a mistake.
    claim: () => noEffect,
    run: async () => failed("The call was not passed on"),
  };
}

function unknownTool(name: string, tools: readonly Tool[]): string {
  const meant = nearest(
    name,
    tools.map((tool) => tool.name),
  );
  return `No MCP server has the tool "${name}"${meant === undefined ? "; McpTools lists all" : ` (did you mean ${meant}?)`}`;
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0]?.slice(0, 160) ?? "";
}
