import { arrayIn, countIn, isRecord, type JsonRecord, recordIn, recordOf, stringIn } from "../config/json.ts";
import { chatBodies } from "./chat-body.ts";
import type { ModelEndpoint } from "./endpoint.ts";
import { ChatThought, signatureIn } from "./chat-thought.ts";
import { FragmentedCalls } from "./fragments.ts";
import type { FinishReason, Model, ModelEvent, ModelInfo, Usage } from "./model.ts";
import { type ReplyParser, wireModel } from "./reply.ts";
import { type TaggedText, ThinkTag } from "./thinktag.ts";
import { tokenOf } from "./thought.ts";
import { noUsage, withCachedInput } from "./usage.ts";

/** Chat Completions, as OpenAI defined it and as other servers understood it. */
export function chatModel(endpoint: ModelEndpoint): Model {
  return wireModel({ wire: "chat", bodies: chatBodies, parser: () => new ChatReply(endpoint.info) }, endpoint);
}

class ChatReply implements ReplyParser {
  state: ReplyParser["state"] = "open";
  readonly #info: ModelInfo;
  readonly #calls = new FragmentedCalls();
  readonly #thought = new ChatThought();
  readonly #tag = new ThinkTag();
  #tagged = "";
  #reason: string | undefined;
  #usage: Usage = noUsage;

  constructor(info: ModelInfo) {
    this.#info = info;
  }

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
    const calls = this.#calls.all(this.#info);
    this.#addText(this.#tag.end(), events);
    this.#endThought(events);
    for (const call of calls) events.push({ type: "call", call });
    events.push({ type: "end", reason: finishOf(this.#reason, calls.length), usage: this.#usage });
  }

  #addContent(delta: JsonRecord, events: ModelEvent[]): void {
    const { content } = delta;
    if (Array.isArray(content)) {
      for (const part of content.map(recordOf)) this.#addContent({ ...part, content: stringIn(part, "text") }, events);
      return;
    }
    const thinking = this.#thought.add(delta);
    if (thinking !== "") events.push({ type: "thinking", text: thinking });
    const { token } = signatureIn(delta, this.#info);
    if (token !== undefined) events.push({ type: "thought", part: { type: "thinking", text: "", token } });
    const text = typeof content === "string" ? content : (stringIn(delta, "refusal") ?? "");
    if (text !== "") this.#addText(this.#tag.split(text), events);
  }

  #addText({ thinking, text, block }: TaggedText, events: ModelEvent[]): void {
    this.#tagged += thinking;
    if (thinking !== "") events.push({ type: "thinking", text: thinking });
    if (block !== undefined) {
      const token = tokenOf({ field: "think_tag", value: block }, this.#info);
      events.push({ type: "thought", part: { type: "thinking", text: this.#tagged, token } });
    }
    if (text === "") return;
    this.#endThought(events);
    events.push({ type: "text", text });
  }

  /** A thought ends when something else begins. */
  #endThought(events: ModelEvent[]): void {
    const part = this.#thought.take(this.#info);
    if (part !== undefined) events.push({ type: "thought", part });
  }
}

/** A server may say `stop` although there are calls, and has its own words for the rest. */
function finishOf(reason: string | undefined, calls: number): FinishReason {
  if (reason === "length" || reason === "max_tokens") return "length";
  if (reason === "content_filter" || reason === "safety") return "filter";
  return calls > 0 ? "calls" : "stop";
}

function usageOf(usage: JsonRecord): Usage {
  // No request is empty: this server does not count.
  if (usage.prompt_tokens === 0 && usage.completion_tokens === 0) return noUsage;
  const details = recordIn(usage, "prompt_tokens_details");
  const cached = countIn(details, "cached_tokens") ?? countIn(usage, "prompt_cache_hit_tokens");
  const written = countIn(details, "cache_write_tokens");
  return withCachedInput({
    input: countIn(usage, "prompt_tokens") ?? null,
    cached: cached ?? countIn(usage, "cached_tokens") ?? null,
    ...(written !== undefined && { written }),
    output: outputOf(usage) ?? null,
    reasoning: countIn(recordIn(usage, "completion_tokens_details"), "reasoning_tokens") ?? null,
  });
}

/** xAI and Gemini count thinking only in the total, although it is output and costs as much. */
function outputOf(usage: JsonRecord): number | undefined {
  const output = countIn(usage, "completion_tokens");
  const total = countIn(usage, "total_tokens");
  if (output === undefined || total === undefined) return output;
  return Math.max(output, total - (countIn(usage, "prompt_tokens") ?? total));
}
