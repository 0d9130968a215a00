import { arrayIn, countIn, isRecord, type JsonRecord, recordIn, recordOf, stringIn } from "../config/json.ts";
import { chatBodies } from "./chat-body.ts";
import type { ModelEndpoint } from "./endpoint.ts";
import { FragmentedCalls } from "./fragments.ts";
import type { FinishReason, Model, ModelEvent, Usage } from "./model.ts";
import { type ReplyParser, wireModel } from "./reply.ts";
import { noUsage } from "./usage.ts";

/** Chat Completions, as OpenAI defined it and as other servers understood it. */
export function chatModel(endpoint: ModelEndpoint): Model {
  return wireModel({ wire: "chat", bodies: chatBodies, parser: () => new ChatReply() }, endpoint);
}

class ChatReply implements ReplyParser {
  state: ReplyParser["state"] = "open";
  #calls = new FragmentedCalls();
  #thinking = "";
  #reason: string | undefined;
  #usage: Usage = noUsage;

  read(frame: JsonRecord, events: ModelEvent[]): void {
    if (isRecord(frame.usage)) this.#usage = usageOf(frame.usage);
    const choice = recordOf(arrayIn(frame, "choices")[0]);
    // A server that does not stream sends `message`, with the same fields.
    const delta = isRecord(choice.delta) ? choice.delta : recordIn(choice, "message");
    for (const fragment of arrayIn(delta, "tool_calls")) this.#calls.add(recordOf(fragment));

    const reason = stringIn(choice, "finish_reason");
    if (reason) {
      this.#reason = reason;
      this.state = "complete";
    }
    this.#addContent(delta, events);
  }

  end(events: ModelEvent[]): void {
    const calls = this.#calls.all();
    this.#endThought(events);
    for (const call of calls) events.push({ type: "call", call });
    events.push({ type: "end", reason: finishOf(this.#reason, calls.length), usage: this.#usage });
  }

  #addContent(delta: JsonRecord, events: ModelEvent[]): void {
    const { content } = delta;
    if (Array.isArray(content)) {
      for (const part of content) this.#addContent(fromPart(recordOf(part)), events);
      return;
    }
    const thinking = stringIn(delta, "reasoning_content") ?? stringIn(delta, "reasoning") ?? "";
    if (thinking !== "") events.push({ type: "thinking", text: thinking });
    this.#thinking += thinking;
    const text = typeof content === "string" ? content : (stringIn(delta, "refusal") ?? "");
    if (text === "") return;
    if (this.#thinking !== "") this.#endThought(events);
    events.push({ type: "text", text });
  }

  /** A thought ends when something else begins. */
  #endThought(events: ModelEvent[]): void {
    const text = this.#thinking;
    this.#thinking = "";
    if (text !== "") events.push({ type: "thought", part: { type: "thinking", text } });
  }
}

/** A part of content that is a list; a thought is a list again. */
function fromPart(part: JsonRecord): JsonRecord {
  if (part.type !== "thinking") return { content: stringIn(part, "text") };
  const texts = arrayIn(part, "thinking").map((piece) => stringIn(recordOf(piece), "text") ?? "");
  return { reasoning_content: texts.join("") };
}

/** A server may say `stop` although there are calls, and has its own words for the rest. */
function finishOf(reason: string | undefined, calls: number): FinishReason {
  if (reason === "length" || reason === "max_tokens") return "length";
  if (reason === "content_filter" || reason === "safety") return "filter";
  return calls > 0 ? "calls" : "stop";
}

function usageOf(usage: JsonRecord): Usage {
  const cached = countIn(recordIn(usage, "prompt_tokens_details"), "cached_tokens");
  return {
    input: countIn(usage, "prompt_tokens") ?? null,
    cached: cached ?? countIn(usage, "prompt_cache_hit_tokens") ?? null,
    output: outputOf(usage) ?? null,
    reasoning: countIn(recordIn(usage, "completion_tokens_details"), "reasoning_tokens") ?? null,
  };
}

/** xAI and Gemini count thinking only in the total, although it is output and costs as much. */
function outputOf(usage: JsonRecord): number | undefined {
  const output = countIn(usage, "completion_tokens");
  const total = countIn(usage, "total_tokens");
  if (output === undefined || total === undefined) return output;
  return Math.max(output, total - (countIn(usage, "prompt_tokens") ?? total));
}
