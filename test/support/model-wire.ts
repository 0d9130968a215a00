import type { Wire } from "../../lib/config/config.ts";
import type { FinishReason, Usage } from "../../lib/model/model.ts";

/** What a scripted model says, in no wire's own form. */
export type Part =
  | { type: "text"; deltas: readonly string[] }
  | { type: "thinking"; deltas: readonly string[]; token?: string }
  | { type: "call"; tool: string; pieces: readonly string[]; id?: string }
  | Wait;

export type Wait = { type: "wait"; until: Promise<unknown> | (() => Promise<unknown>) };

/** Who asks: a reply is rendered for the wire that the request came on. */
export type Asked = { wire: Wire; index: number; model: string; wantsUsage: boolean };

export type ReplyOptions = { usage?: Partial<Usage> | null; finish?: FinishReason };

type Frames = (string | Wait)[];

/** The server-sent events of a reply, as a provider that follows its own documentation would send them. */
export function framesOf(parts: readonly Part[], options: ReplyOptions, asked: Asked): Frames {
  const finish = options.finish ?? (parts.some((part) => part.type === "call") ? "calls" : "stop");
  const usage = options.usage === null ? undefined : { ...plainUsage, ...options.usage };
  const frames = asked.wire === "chat" ? chatFrames : responsesFrames;
  return frames(withIds(parts, asked), finish, usage, asked);
}

/** A frame of server-sent events. */
export function frame(value: unknown): string {
  return `data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`;
}

/** One chunk of Chat Completions, for replies that a test writes frame by frame. */
export function chatChunk(delta: object | null, finish: string | null = null, extra: object = {}): string {
  const choices = delta === null ? [] : [{ index: 0, delta, finish_reason: finish }];
  return frame({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "scripted", choices, ...extra });
}

export const chatDone = frame("[DONE]");

/** One event of Responses. */
export function responsesEvent(type: string, fields: object = {}): string {
  return `event: ${type}\n${frame({ type, ...fields })}`;
}

const plainUsage: Usage = { input: 10, cached: 0, output: 5, reasoning: 0 };

type Known = Exclude<Part, { type: "call" }> | (Extract<Part, { type: "call" }> & { id: string });

/** The same script gives the same ids on every run and on both wires, and no id twice within a conversation. */
function withIds(parts: readonly Part[], asked: Asked): Known[] {
  let calls = 0;
  return parts.map((part) => (part.type === "call" ? { id: `call_${asked.index + 1}_${++calls}`, ...part } : part));
}

function chatFrames(parts: readonly Known[], finish: FinishReason, usage: Usage | undefined, asked: Asked): Frames {
  const extra = { model: asked.model };
  const frames: Frames = [chatChunk({ role: "assistant", content: "" }, null, extra)];
  let calls = 0;
  for (const part of parts) {
    switch (part.type) {
      case "wait":
        frames.push(part);
        break;
      case "text":
        frames.push(...part.deltas.map((content) => chatChunk({ content }, null, extra)));
        break;
      case "thinking":
        frames.push(...part.deltas.map((text) => chatChunk({ reasoning_content: text }, null, extra)));
        break;
      case "call": {
        const index = calls++;
        const fragment = (fields: object) => chatChunk({ tool_calls: [{ index, ...fields }] }, null, extra);
        frames.push(fragment({ id: part.id, type: "function", function: { name: part.tool, arguments: "" } }));
        frames.push(...part.pieces.map((text) => fragment({ function: { arguments: text } })));
        break;
      }
      default:
        part satisfies never;
    }
  }
  frames.push(chatChunk({}, chatFinish[finish], extra));
  if (usage && asked.wantsUsage) frames.push(chatChunk(null, null, { ...extra, usage: chatUsage(usage) }));
  return [...frames, chatDone];
}

const chatFinish = { stop: "stop", calls: "tool_calls", length: "length", filter: "content_filter" } as const;

function chatUsage(usage: Usage): object {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
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
  const event = (type: string, fields: object) => responsesEvent(type, { sequence_number: sequence++, ...fields });
  const response = (status: string, fields: object = {}) => ({
    response: { id: `resp_${asked.index + 1}`, object: "response", status, model: asked.model, ...fields },
  });

  const frames: Frames = [
    event("response.created", response("in_progress")),
    event("response.in_progress", response("in_progress")),
  ];
  const output: object[] = [];
  for (const part of parts) {
    if (part.type === "wait") {
      frames.push(part);
      continue;
    }
    const at = { output_index: output.length };
    const item = responsesItem(part, asked, output.length);
    const delta = { ...at, item_id: item.done.id, ...item.inner };
    frames.push(event("response.output_item.added", { ...at, item: item.added }));
    frames.push(...item.deltas.map((text) => event(`${item.event}.delta`, { ...delta, delta: text })));
    frames.push(event(`${item.event}.done`, { ...delta, ...item.whole }));
    frames.push(event("response.output_item.done", { ...at, item: item.done }));
    output.push(item.done);
  }

  const ended = finish === "length" || finish === "filter" ? "incomplete" : "completed";
  const reason = finish === "length" ? "max_output_tokens" : "content_filter";
  const fields = {
    output,
    incomplete_details: ended === "incomplete" ? { reason } : null,
    usage: usage ? responsesUsage(usage) : null,
  };
  return [...frames, event(`response.${ended}`, response(ended, fields))];
}

type ResponsesItem = {
  event: string;
  added: object;
  inner: object;
  deltas: readonly string[];
  whole: object;
  done: { id: string; [field: string]: unknown };
};

function responsesItem(part: Exclude<Known, Wait>, asked: Asked, position: number): ResponsesItem {
  const suffix = `${asked.index + 1}_${position}`;
  switch (part.type) {
    case "text": {
      const text = part.deltas.join("");
      const message = { id: `msg_${suffix}`, type: "message", role: "assistant" };
      return {
        event: "response.output_text",
        added: { ...message, status: "in_progress", content: [] },
        inner: { content_index: 0 },
        deltas: part.deltas,
        whole: { text },
        done: { ...message, status: "completed", content: [{ type: "output_text", text, annotations: [] }] },
      };
    }
    case "thinking": {
      const text = part.deltas.join("");
      const reasoning = { id: `rs_${suffix}`, type: "reasoning" };
      return {
        event: "response.reasoning_summary_text",
        added: { ...reasoning, summary: [] },
        inner: { summary_index: 0 },
        deltas: part.deltas,
        whole: { text },
        done: {
          ...reasoning,
          summary: [{ type: "summary_text", text }],
          ...(part.token !== undefined && { encrypted_content: part.token }),
        },
      };
    }
    case "call": {
      const item = { id: `fc_${suffix}`, type: "function_call", call_id: part.id, name: part.tool };
      const text = part.pieces.join("");
      return {
        event: "response.function_call_arguments",
        added: { ...item, status: "in_progress", arguments: "" },
        inner: {},
        deltas: part.pieces,
        whole: { arguments: text },
        done: { ...item, status: "completed", arguments: text },
      };
    }
    default:
      return part satisfies never;
  }
}

function responsesUsage(usage: Usage): object {
  return {
    input_tokens: usage.input,
    output_tokens: usage.output,
    total_tokens: (usage.input ?? 0) + (usage.output ?? 0),
    ...(usage.cached !== null && { input_tokens_details: { cached_tokens: usage.cached } }),
    ...(usage.reasoning !== null && { output_tokens_details: { reasoning_tokens: usage.reasoning } }),
  };
}
