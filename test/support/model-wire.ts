import type { ChatCompletionChunk } from "openai/resources/chat/completions";
import type { CompletionUsage } from "openai/resources/completions";
import type {
  Response as ModelResponse,
  ResponseOutputItem,
  ResponseStreamEvent,
  ResponseUsage,
} from "openai/resources/responses/responses";
import type { FinishReason, Usage } from "../../lib/model/model.ts";
import { type Asked, frame, type Frames, type Known, type Part, type ReplyOptions, type Wait } from "./model-frame.ts";
import { messagesFrames } from "./model-messages.ts";

/** The server-sent events of a reply, as a provider that follows its own documentation would send them. */
export function framesOf(parts: readonly Part[], options: ReplyOptions, asked: Asked): Frames {
  const finish = options.finish ?? (parts.some((part) => part.type === "call") ? "calls" : "stop");
  const usage = options.usage === null ? undefined : { ...plainUsage, ...options.usage };
  return framesByWire[asked.wire](withIds(parts, asked), finish, usage, asked);
}

const framesByWire = { chat: chatFrames, responses: responsesFrames, messages: messagesFrames } as const;

/** One chunk of Chat Completions, for replies that a test writes frame by frame. */
export function chatChunk(delta: object | null, finish: string | null = null, extra: object = {}): string {
  const choices = delta === null ? [] : [{ index: 0, delta, finish_reason: finish }];
  return frame({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "scripted", choices, ...extra });
}

export const chatDone = frame("[DONE]");

/** One event of Responses, for replies that a test writes frame by frame. */
export function responsesEvent(type: string, fields: object = {}): string {
  return `event: ${type}\n${frame({ type, ...fields })}`;
}

const plainUsage: Usage = { input: 10, cached: 0, output: 5, reasoning: 0 };

/** The same script gives the same ids on every run and on each wire, and no id twice within a conversation. */
function withIds(parts: readonly Part[], asked: Asked): Known[] {
  let calls = 0;
  return parts.map((part) => (part.type === "call" ? { id: `call_${asked.index + 1}_${++calls}`, ...part } : part));
}

function chatFrames(parts: readonly Known[], finish: FinishReason, usage: Usage | undefined, asked: Asked): Frames {
  const extra = { model: asked.model };
  const chunk = (delta: ChatDelta, reason: ChatCompletionChunk.Choice["finish_reason"] = null) =>
    chatChunk(delta, reason, extra);
  const frames: Frames = [chunk({ role: "assistant", content: "" })];
  let calls = 0;
  for (const part of parts) {
    switch (part.type) {
      case "wait":
        frames.push(part);
        break;
      case "text":
        frames.push(...part.deltas.map((content) => chunk({ content })));
        break;
      case "thinking":
        frames.push(...part.deltas.map((text) => chunk({ reasoning_content: text })));
        break;
      case "call": {
        const index = calls++;
        const fragment = (fields: Omit<ChatCompletionChunk.Choice.Delta.ToolCall, "index">) =>
          chunk({ tool_calls: [{ index, ...fields }] });
        frames.push(fragment({ id: part.id, type: "function", function: { name: part.tool, arguments: "" } }));
        frames.push(...part.pieces.map((text) => fragment({ function: { arguments: text } })));
        break;
      }
      default:
        part satisfies never;
    }
  }
  frames.push(chunk({}, chatFinish[finish]));
  if (usage && asked.wantsUsage) frames.push(chatChunk(null, null, { ...extra, usage: chatUsage(usage) }));
  return [...frames, chatDone];
}

/** The thinking of DeepSeek and those after it is not part of OpenAI's API. */
type ChatDelta = ChatCompletionChunk.Choice.Delta & { reasoning_content?: string };

const chatFinish = { stop: "stop", calls: "tool_calls", length: "length", filter: "content_filter" } as const;

function chatUsage(usage: Usage): Partial<CompletionUsage> {
  return {
    ...(usage.input !== null && { prompt_tokens: usage.input }),
    ...(usage.output !== null && { completion_tokens: usage.output }),
    total_tokens: (usage.input ?? 0) + (usage.output ?? 0),
    ...(usage.cached !== null && { prompt_tokens_details: { cached_tokens: usage.cached } }),
    ...(usage.reasoning !== null && { completion_tokens_details: { reasoning_tokens: usage.reasoning } }),
  };
}

function responsesFrames(
  parts: readonly Known[],
  finish: FinishReason,
  usage: Usage | undefined,
  asked: Asked,
): Frames {
  let sequence = 0;
  const event = ({ type, ...fields }: Unnumbered<ResponseStreamEvent>) =>
    responsesEvent(type, { sequence_number: sequence++, ...fields });
  const response = (fields: ResponseFields): ModelResponse =>
    ({ id: `resp_${asked.index + 1}`, object: "response", model: asked.model, ...fields }) as ModelResponse;

  const begun = response({ status: "in_progress" });
  const frames: Frames = [
    event({ type: "response.created", response: begun }),
    event({ type: "response.in_progress", response: begun }),
  ];
  const output: ResponseOutputItem[] = [];
  for (const part of parts) {
    if (part.type === "wait") {
      frames.push(part);
      continue;
    }
    const output_index = output.length;
    const item = responsesItem(part, asked, output_index);
    frames.push(event({ type: "response.output_item.added", output_index, item: item.added }));
    frames.push(...item.filled.map(event));
    frames.push(event({ type: "response.output_item.done", output_index, item: item.done }));
    output.push(item.done);
  }

  const status = finish === "length" || finish === "filter" ? "incomplete" : "completed";
  const reason = finish === "length" ? "max_output_tokens" : "content_filter";
  const incomplete_details = status === "incomplete" ? ({ reason } as const) : null;
  const whole = response({ status, output, incomplete_details, usage: usage ? responsesUsage(usage) : null });
  return [...frames, event({ type: `response.${status}`, response: whole })];
}

/** The fields that differ between the responses that koda reads; the rest repeats the request. */
type ResponseFields = Partial<Omit<ModelResponse, "usage">> & { usage?: Partial<ResponseUsage> | null };

type Unnumbered<Event> = Event extends unknown ? Omit<Event, "sequence_number"> : never;

type ResponsesItem = {
  added: ResponseOutputItem;
  filled: Unnumbered<ResponseStreamEvent>[];
  done: ResponseOutputItem;
};

function responsesItem(part: Exclude<Known, Wait>, asked: Asked, output_index: number): ResponsesItem {
  const suffix = `${asked.index + 1}_${output_index}`;
  switch (part.type) {
    case "text": {
      const text = part.deltas.join("");
      const message = { id: `msg_${suffix}`, type: "message", role: "assistant" } as const;
      const at = { output_index, item_id: message.id, content_index: 0, logprobs: [] };
      return {
        added: { ...message, status: "in_progress", content: [] },
        filled: [
          ...part.deltas.map((delta) => ({ type: "response.output_text.delta", ...at, delta }) as const),
          { type: "response.output_text.done", ...at, text },
        ],
        done: { ...message, status: "completed", content: [{ type: "output_text", text, annotations: [] }] },
      };
    }
    case "thinking": {
      const text = part.deltas.join("");
      const reasoning = { id: `rs_${suffix}`, type: "reasoning" } as const;
      const at = { output_index, item_id: reasoning.id, summary_index: 0 };
      const token = part.token !== undefined && { encrypted_content: part.token };
      return {
        added: { ...reasoning, summary: [] },
        filled: [
          ...part.deltas.map((delta) => ({ type: "response.reasoning_summary_text.delta", ...at, delta }) as const),
          { type: "response.reasoning_summary_text.done", ...at, text },
        ],
        done: { ...reasoning, summary: [{ type: "summary_text", text }], ...token },
      };
    }
    case "call": {
      const call = { id: `fc_${suffix}`, type: "function_call", call_id: part.id, name: part.tool } as const;
      const at = { output_index, item_id: call.id };
      const text = part.pieces.join("");
      return {
        added: { ...call, status: "in_progress", arguments: "" },
        filled: [
          ...part.pieces.map((delta) => ({ type: "response.function_call_arguments.delta", ...at, delta }) as const),
          { type: "response.function_call_arguments.done", ...at, arguments: text },
        ],
        done: { ...call, status: "completed", arguments: text },
      };
    }
    default:
      return part satisfies never;
  }
}

function responsesUsage(usage: Usage): Partial<ResponseUsage> {
  return {
    ...(usage.input !== null && { input_tokens: usage.input }),
    ...(usage.output !== null && { output_tokens: usage.output }),
    total_tokens: (usage.input ?? 0) + (usage.output ?? 0),
    ...(usage.cached !== null && {
      input_tokens_details: { cached_tokens: usage.cached, cache_write_tokens: usage.written ?? 0 },
    }),
    ...(usage.reasoning !== null && { output_tokens_details: { reasoning_tokens: usage.reasoning } }),
  };
}
