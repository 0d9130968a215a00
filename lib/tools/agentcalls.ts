import type { JsonSchema } from "../model/model.ts";
import type { ToolContext, ToolResult } from "./tool.ts";

export type AgentRequest = {
  agent: string;
  prompt: string;
  background?: boolean;
  /** The JSON Schema that its answer has to match. */
  schema?: JsonSchema;
};

/** The agents of a conversation, as its tools use them. */
export type AgentCalls = {
  /** Settles with the agent's answer, or with its id when it works in the background. */
  start(request: AgentRequest, call: Pick<ToolContext, "call" | "signal">): Promise<ToolResult>;
  readonly background: BackgroundCalls;
};

/** The agents in the background. */
export type BackgroundCalls = {
  /** A line for each. */
  list(): readonly string[];
  /** The state of one, with its answer once there is one; undefined when there is none by that id. */
  look(id: string): ToolResult | undefined;
  /** Settles when it has ended. When the call is stopped first, the result comes as if nobody had asked for it. */
  stop(id: string, call: Pick<ToolContext, "signal">): Promise<ToolResult | undefined>;
  /** Gives a running agent another message. */
  send(id: string, message: string): ToolResult | undefined;
};

export const invokeAgentName = "InvokeAgent";
export const taskSendName = "TaskSend";
