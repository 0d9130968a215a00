import { arrayIn, countIn, isRecord, type JsonRecord, recordIn, recordOf, stringIn } from "../config/json.ts";
import type { ModelEndpoint } from "./endpoint.ts";
import { streamError } from "./failure.ts";
import type { FinishReason, Model, ModelEvent, Usage } from "./model.ts";
import { type ReplyParser, wireModel } from "./reply.ts";
import { responsesBodies } from "./responses-body.ts";
import { tokenOf } from "./thought.ts";
import { withCachedInput } from "./usage.ts";

/** OpenAI's Responses: a reply is a list of items, each announced, filled by deltas and completed. */
export function responsesModel(endpoint: ModelEndpoint): Model {
  return wireModel(
    { wire: "responses", bodies: responsesBodies, parser: () => new ResponsesReply(endpoint) },
    endpoint,
  );
}

class ResponsesReply implements ReplyParser {
  state: ReplyParser["state"] = "open";
  #endpoint: ModelEndpoint;
  /** Items whose text was streamed: their completed form repeats it. */
  #streamed = new Set<string>();
  #finished = new Set<string>();
  #calls = 0;
  #response: JsonRecord = {};

  constructor(endpoint: ModelEndpoint) {
    this.#endpoint = endpoint;
  }

  read(frame: JsonRecord, events: ModelEvent[]): void {
    for (const event of this.#eventsOf(frame)) events.push(event);
  }

  #eventsOf(frame: JsonRecord): readonly ModelEvent[] {
    switch (frame.type) {
      case "response.output_text.delta":
      case "response.refusal.delta":
        return this.#delta("text", frame);
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        return this.#delta("thinking", frame);
      case "response.output_item.done":
        return this.#item(recordIn(frame, "item"), this.#keyOf(frame));
      case "response.completed":
      case "response.incomplete":
        return this.#terminal(recordIn(frame, "response"));
      case "response.failed":
      case "response.cancelled":
        throw this.#failed(recordIn(frame, "response"));
      default:
        return frame.object === "response" ? this.#whole(frame) : [];
    }
  }

  end(events: ModelEvent[]): void {
    const usage = usageOf(recordIn(this.#response, "usage"));
    events.push({ type: "end", reason: finishOf(this.#response, this.#calls), usage });
  }

  #delta(type: "text" | "thinking", frame: JsonRecord): ModelEvent[] {
    const text = stringIn(frame, "delta") ?? "";
    if (text === "") return [];
    this.#streamed.add(this.#keyOf(frame));
    return [{ type, text }];
  }

  /** The place of a frame's item in the reply; a server that does not count them sends them in order. */
  #keyOf({ output_index: index = this.#finished.size }: JsonRecord): string {
    return String(index);
  }

  /** A completed item. Calls come only from here, so their fragments are ignored. */
  #item(item: JsonRecord, key: string): ModelEvent[] {
    if (this.#finished.has(key)) return [];
    this.#finished.add(key);
    switch (item.type) {
      case "function_call": {
        this.#calls++;
        const text = typeof item.arguments === "string" ? item.arguments : JSON.stringify(item.arguments ?? {});
        const id = stringIn(item, "call_id") ?? stringIn(item, "id") ?? "";
        const tool = stringIn(item, "name") ?? "";
        return [{ type: "call", call: { type: "call", id, tool, arguments: text.trim() === "" ? "{}" : text } }];
      }
      case "reasoning": {
        const text = textIn(item, "summary") || textIn(item, "content");
        const encrypted = stringIn(item, "encrypted_content");
        const token = encrypted && {
          token: tokenOf({ field: "encrypted_content", value: encrypted }, this.#endpoint.info),
        };
        return [
          ...this.#missing("thinking", text, key),
          { type: "thought", part: { type: "thinking", text, ...token } },
        ];
      }
      case "message":
        return this.#missing("text", textIn(item, "content"), key);
      default:
        return [];
    }
  }

  /** The text of a server that sent no deltas. */
  #missing(type: "text" | "thinking", text: string, key: string): ModelEvent[] {
    return text === "" || this.#streamed.has(key) ? [] : [{ type, text }];
  }

  /** The last event has every item, for servers that did not complete them one by one. */
  #terminal(response: JsonRecord): ModelEvent[] {
    this.#response = response;
    this.state = "over";
    return arrayIn(response, "output").flatMap((item, index) => this.#item(recordOf(item), String(index)));
  }

  /** The response of a server that does not stream. */
  #whole(response: JsonRecord): ModelEvent[] {
    if (response.status === "failed") throw this.#failed(response);
    return this.#terminal(response);
  }

  #failed(response: JsonRecord): Error {
    const error = isRecord(response.error)
      ? response.error
      : { message: `the reply ended as ${String(response.status)}` };
    return streamError(error, this.#endpoint);
  }
}

function textIn(item: JsonRecord, key: string): string {
  const parts = arrayIn(item, key).map(recordOf);
  return parts.map((part) => stringIn(part, "text") ?? stringIn(part, "refusal") ?? "").join("");
}

function finishOf(response: JsonRecord, calls: number): FinishReason {
  const reason = stringIn(recordIn(response, "incomplete_details"), "reason");
  if (reason === "content_filter") return "filter";
  if (response.status === "incomplete" || reason !== undefined) return "length";
  return calls > 0 ? "calls" : "stop";
}

function usageOf(usage: JsonRecord): Usage {
  const details = recordIn(usage, "input_tokens_details");
  const written = countIn(details, "cache_write_tokens");
  return withCachedInput({
    input: countIn(usage, "input_tokens") ?? null,
    cached: countIn(details, "cached_tokens") ?? null,
    ...(written !== undefined && { written }),
    output: countIn(usage, "output_tokens") ?? null,
    reasoning: countIn(recordIn(usage, "output_tokens_details"), "reasoning_tokens") ?? null,
  });
}
