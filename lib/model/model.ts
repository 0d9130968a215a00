import type { Wire } from "../config/config.ts";
import type { ErrorCode } from "../errors.ts";
import type { CallPart, Message, ThinkingPart } from "./message.ts";

export type { Wire };

/** A JSON Schema object. Built-in tools, MCP tools and `--output-schema` all speak it, so it is the one form here. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** What a provider reported; a figure it did not report is null, never 0. */
export type Usage = {
  input: number | null;
  /** Part of `input`. */
  cached: number | null;
  output: number | null;
  /** Part of `output`. */
  reasoning: number | null;
};

export type ToolOffer = { name: string; about: string; input: JsonSchema };

export type ModelSettings = {
  reasoningEffort?: "low" | "medium" | "high";
  temperature?: number;
  maxOutputTokens?: number;
};

export type ModelRequest = {
  system: string;
  messages: readonly Message[];
  tools: readonly ToolOffer[];
  /** Tools stay in the request, so that its prefix stays the same, but may not be called. */
  withoutTools?: boolean;
  /** Called for every chunk of bytes that arrives: how `--idle-timeout` knows that the model is alive. */
  heard?: () => void;
};

export type FinishReason = "stop" | "calls" | "length" | "filter";

export type ModelEvent =
  | { type: "text"; text: string }
  | { type: "thinking"; text: string }
  /** A finished thought with its token, for the log; its text was streamed by `thinking` already. */
  | { type: "thought"; part: ThinkingPart }
  /** A call whose arguments are complete. */
  | { type: "call"; call: CallPart }
  /** The attempt broke: everything of this reply so far is void, and a new attempt follows after the delay. */
  | { type: "retry"; attempt: number; max: number; delayMs: number; code: ErrorCode; message: string; reason: string }
  /** The wire's own terminal event. A stream that stops without it has failed. */
  | { type: "end"; reason: FinishReason; usage: Usage };

/**
 * One request to its end. Events come as many at a time as arrived together: to hand over each by itself, through every
 * layer, would cost more than to read it. Throws a KodaError when the provider fails, and the signal's reason when it
 * aborts; ends normally only after an `end` event.
 */
export type Model = (request: ModelRequest, signal: AbortSignal) => AsyncIterable<readonly ModelEvent[]>;

/** USD per million tokens. */
export type Price = { input: number; cached?: number; output: number };

/** What is known of a model, from the user's configuration or from the catalog. */
export type ModelInfo = {
  provider: string;
  /** The name the provider knows it by. */
  name: string;
  wire: Wire;
  contextWindow: number;
  maxOutput?: number;
  /** Absent when it is not known: then they are sent. */
  images?: boolean;
  price?: Price;
  /** Parameters that the model is known not to take; absent when nothing is known of it. */
  refuses?: readonly OptionalParameter[];
};

export type OptionalParameter = "temperature" | "reasoning_effort";
