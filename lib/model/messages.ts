import { arrayIn, countIn, type JsonRecord, recordIn, recordOf, stringIn } from "../config/json.ts";
import type { ModelEndpoint } from "./endpoint.ts";
import { messagesBodies } from "./messages-body.ts";
import type { FinishReason, Model, ModelEvent, ModelInfo, Usage } from "./model.ts";
import { type ReplyParser, wireModel } from "./reply.ts";
import { tokenOf } from "./thought.ts";

/** Anthropic's Messages: a reply is a list of content blocks, each started, filled by deltas and stopped. */
export function messagesModel(endpoint: ModelEndpoint): Model {
  return wireModel(
    { wire: "messages", bodies: messagesBodies, parser: () => new MessagesReply(endpoint.info) },
    endpoint,
  );
}

/** A block as it arrives: its pieces are joined once. */
type Block = { start: JsonRecord; pieces: string[]; signature: string };

class MessagesReply implements ReplyParser {
  state: ReplyParser["state"] = "open";
  readonly #info: ModelInfo;
  readonly #open = new Map<unknown, Block>();
  #usage: JsonRecord = {};
  #reason: string | undefined;
  #calls = 0;

  constructor(info: ModelInfo) {
    this.#info = info;
  }

  read(frame: JsonRecord, events: ModelEvent[]): void {
    switch (frame.type) {
      case "message_start":
        this.#whole(recordIn(frame, "message"), "open", events);
        break;
      case "content_block_start":
        this.#start(frame.index, recordIn(frame, "content_block"), events);
        break;
      case "content_block_delta":
        this.#add(frame.index, recordIn(frame, "delta"), events);
        break;
      case "content_block_stop":
        this.#stop(frame.index, events);
        break;
      case "message_delta":
        this.#count(recordIn(frame, "usage"));
        this.#finish(recordIn(frame, "delta"), "complete");
        break;
      case "message_stop":
        this.state = "over";
        break;
      case "message":
        this.#whole(frame, "over", events);
        break;
    }
  }

  end(events: ModelEvent[]): void {
    // A server that did not stop its blocks.
    for (const index of this.#open.keys()) this.#stop(index, events);
    events.push({ type: "end", reason: finishOf(this.#reason, this.#calls), usage: usageOf(this.#usage) });
  }

  #start(index: unknown, start: JsonRecord, events: ModelEvent[]): void {
    // A server that neither counts its blocks nor stops them.
    this.#stop(index, events);
    this.#open.set(index, { start, pieces: [], signature: stringIn(start, "signature") ?? "" });
    if (start.type === "text") this.#add(index, { type: "text_delta", text: start.text }, events);
    if (start.type === "thinking") this.#add(index, { type: "thinking_delta", thinking: start.thinking }, events);
  }

  #add(index: unknown, delta: JsonRecord, events: ModelEvent[]): void {
    const block = this.#open.get(index);
    const piece = (key: string) => stringIn(delta, key) ?? "";
    switch (delta.type) {
      case "text_delta":
        if (piece("text") !== "") events.push({ type: "text", text: piece("text") });
        break;
      case "thinking_delta":
        block?.pieces.push(piece("thinking"));
        if (piece("thinking") !== "") events.push({ type: "thinking", text: piece("thinking") });
        break;
      case "signature_delta":
        if (block !== undefined) block.signature += piece("signature");
        break;
      case "input_json_delta":
        block?.pieces.push(piece("partial_json"));
        break;
    }
  }

  /** Blocks of the provider's own tools are neither text nor calls for koda. */
  #stop(index: unknown, events: ModelEvent[]): void {
    const block = this.#open.get(index);
    this.#open.delete(index);
    if (block === undefined) return;
    const { start, pieces, signature } = block;
    const thought = (text: string, token: string) =>
      void events.push({ type: "thought", part: { type: "thinking", text, token } });
    switch (start.type) {
      case "thinking":
        thought(pieces.join(""), tokenOf({ field: "signature", value: signature }, this.#info));
        break;
      case "redacted_thinking":
        thought("", tokenOf({ field: "redacted_thinking", value: stringIn(start, "data") ?? "" }, this.#info));
        break;
      case "tool_use":
        this.#calls++;
        events.push({ type: "call", call: callOf(start, pieces.join("")) });
        break;
    }
  }

  #finish(delta: JsonRecord, state: ReplyParser["state"]): void {
    this.#reason = stringIn(delta, "stop_reason") ?? this.#reason;
    if (this.#reason !== undefined && this.state === "open") this.state = state;
  }

  /** The last report of each figure counts: the end repeats what the start said, and corrects it. */
  #count(usage: JsonRecord): void {
    const reported = Object.entries(usage).filter(([, value]) => value !== null);
    this.#usage = { ...this.#usage, ...Object.fromEntries(reported) };
  }

  /**
   * The reply of a server that does not stream; and the start of one that does, which has no blocks yet, or all of them
   * when no model wrote it: the provider's own tools made the call.
   */
  #whole(message: JsonRecord, state: ReplyParser["state"], events: ModelEvent[]): void {
    for (const [index, block] of arrayIn(message, "content").entries()) {
      this.#start(index, recordOf(block), events);
      this.#stop(index, events);
    }
    this.#count(recordIn(message, "usage"));
    this.#finish(message, state);
  }
}

/** The arguments come in pieces after the block's start, or with it. */
function callOf(start: JsonRecord, written: string): Extract<ModelEvent, { type: "call" }>["call"] {
  const text = written.trim() === "" ? JSON.stringify(recordIn(start, "input")) : written;
  return { type: "call", id: stringIn(start, "id") ?? "", tool: stringIn(start, "name") ?? "", arguments: text };
}

function finishOf(reason: string | undefined, calls: number): FinishReason {
  switch (reason) {
    case "max_tokens":
    case "model_context_window_exceeded":
    // A long turn of the provider's own tools, which goes on when it is asked to.
    case "pause_turn":
      return "length";
    case "refusal":
      return "filter";
    default:
      return calls > 0 ? "calls" : "stop";
  }
}

/** The provider counts the cached input beside the rest of it. */
function usageOf(usage: JsonRecord): Usage {
  const input = countIn(usage, "input_tokens");
  const cached = countIn(usage, "cache_read_input_tokens");
  const written = countIn(usage, "cache_creation_input_tokens");
  return {
    input: input === undefined ? null : input + (cached ?? 0) + (written ?? 0),
    cached: cached ?? null,
    ...(written !== undefined && { written }),
    output: countIn(usage, "output_tokens") ?? null,
    reasoning: countIn(recordIn(usage, "output_tokens_details"), "thinking_tokens") ?? null,
  };
}
