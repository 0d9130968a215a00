import type { EditDialect, Wire } from "../config/config.ts";
import type { ErrorCode } from "../errors.ts";
import type { CallPart, Message, ThinkingPart } from "./message.ts";
import type { RateLimits } from "./ratelimits.ts";

/** A JSON Schema object: the input of a tool, or `--output-schema`. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** Token counts as the provider reports them; null, never 0, for one that it does not report. */
export type Usage = {
  input: number | null;
  /** Part of `input`: read from the provider's prompt cache. */
  cached: number | null;
  /** Part of `input`: written to that cache, by the few providers that charge for it; absent when not reported. */
  written?: number;
  output: number | null;
  /** Part of `output`. */
  reasoning: number | null;
};

export type ToolOffer = { name: string; about: string; input: JsonSchema };

export type ModelSettings = {
  reasoningEffort?: "low" | "medium" | "high";
  temperature?: number;
  maxOutputTokens?: number;
  /** Not sent: it chooses the editing tool. */
  edit?: EditDialect;
};

export type ModelRequest = {
  system: string;
  messages: readonly Message[];
  tools: readonly ToolOffer[];
  /** The model may not call tools; they stay in the request so that its prefix does not change. */
  withoutTools?: boolean;
  /** The same for all requests of a conversation and its forks: the provider looks for their prefix in one place. */
  cacheKey?: string;
  /** The longest reply that the cost limit allows, in tokens. */
  affordableOutput?: number;
  /** About what the context window leaves for the reply, in tokens. Only some wires need to know. */
  room?: () => number;
  /** Called for every chunk of bytes: `--idle-timeout` starts again. */
  heard?: () => void;
  /** Called with the provider's limits whenever a response tells them, including one that refuses the request. */
  limits?: (limits: RateLimits) => void;
  /** Called when a wait for a limit begins, and disposed at its end: `--idle-timeout` does not count it. */
  waits?: () => Disposable;
};

export type FinishReason = "stop" | "calls" | "length" | "filter";

export type ModelEvent =
  | { type: "text"; text: string }
  | { type: "thinking"; text: string }
  /** A complete thought with its token, for the log; `thinking` events had its text already. */
  | { type: "thought"; part: ThinkingPart }
  /** A call whose arguments are complete. */
  | { type: "call"; call: CallPart }
  /** The attempt failed: everything of this reply so far is void, and a new attempt follows after the delay. */
  | { type: "retry"; attempt: number; max: number; delayMs: number; code: ErrorCode; message: string; reason: string }
  /** The wire's own terminal event. A stream that stops without it has failed. */
  | { type: "end"; reason: FinishReason; usage: Usage };

/**
 * Streams the reply to one request. Events come as many at a time as arrived together: passing each through every
 * layer by itself would cost more than parsing it. Throws a KodaError when the provider fails, and the signal's reason
 * when it aborts; ends normally only after an `end` event.
 */
export type Model = (request: ModelRequest, signal: AbortSignal) => AsyncIterable<readonly ModelEvent[]>;

/** USD per million tokens. */
type Rates = {
  input: number;
  /** For input that is read from the provider's cache; `input` when absent. */
  cached?: number;
  /** For input that is written to the provider's cache; `input` when absent. */
  written?: number;
  output: number;
};

/** A whole request costs what the last tier says whose `above` its input exceeds. */
export type Price = Rates & { tiers?: readonly (Rates & { above: number })[] };

/** A model as the user's configuration or the catalog describes it. */
export type ModelInfo = {
  provider: string;
  /** The provider's name for it. */
  name: string;
  wire: Wire;
  contextWindow: number;
  maxOutput?: number;
  /** Absent when unknown: then images are sent. */
  images?: boolean;
  /** Absent when its name decides. */
  edit?: EditDialect;
  price?: Price;
  /** False when the provider has refused thoughts that were sent back. */
  thoughts?: false;
  /** Parameters that the model is known to refuse. */
  refuses?: readonly OptionalParameter[];
};

/** A parameter that a request can do without, or under another name. */
export type OptionalParameter =
  | "temperature"
  | "reasoning_effort"
  | "stream_options"
  | "include"
  | "prompt_cache_key"
  | "max_tokens"
  | "max_completion_tokens";

/** The facts about a model beside its place. */
export type ModelFacts = Omit<ModelInfo, "provider" | "name" | "wire">;
