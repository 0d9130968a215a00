import type {
  ContentBlock,
  ContentBlockParam,
  MessageCreateParamsStreaming,
  RawMessageStreamEvent,
  StopReason,
} from "@anthropic-ai/sdk/resources/messages";
import type { FinishReason, Usage } from "../../lib/model/model.ts";
import type { Line } from "./model-check.ts";
import { type Asked, frame, type Frames, type Known } from "./model-frame.ts";

/** The wire `messages`, as Anthropic documents it: the frames of a reply, and what is checked in a request. */
export function messagesFrames(
  parts: readonly Known[],
  finish: FinishReason,
  usage: Usage | undefined,
  asked: Asked,
): Frames {
  const frames: Frames = [
    messagesEvent({
      type: "message_start",
      message: {
        id: `msg_${asked.index + 1}`,
        type: "message",
        role: "assistant",
        model: asked.model,
        content: [],
        usage: usage ? usageFields({ ...usage, output: 1 }) : {},
      },
    }),
    messagesEvent({ type: "ping" }),
  ];
  let index = 0;
  for (const part of parts) {
    if (part.type === "wait") frames.push(part);
    else frames.push(...blockFrames(part, index++).map(messagesEvent));
  }
  const delta = { stop_reason: stopReasons[finish], stop_sequence: null };
  frames.push(messagesEvent({ type: "message_delta", delta, usage: usage ? usageFields(usage) : {} }));
  return [...frames, messagesEvent({ type: "message_stop" })];
}

/** One event of Messages, for replies that a test writes frame by frame. */
export function messagesEvent(event: {
  type: RawMessageStreamEvent["type"] | "ping" | "error";
  [field: string]: unknown;
}) {
  return `event: ${event.type}\n${frame(event)}`;
}

const stopReasons = {
  stop: "end_turn",
  calls: "tool_use",
  length: "max_tokens",
  filter: "refusal",
} as const satisfies Record<FinishReason, StopReason>;

type BlockFrame = { type: "content_block_start" | "content_block_delta" | "content_block_stop"; index: number };

function blockFrames(part: Exclude<Known, { type: "wait" }>, index: number): BlockFrame[] {
  const stop: BlockFrame = { type: "content_block_stop", index };
  const start = (content_block: Partial<ContentBlock>) =>
    ({ type: "content_block_start", index, content_block }) as const;
  const deltas = (texts: readonly string[], type: string, key: string) =>
    texts.map((text) => ({ type: "content_block_delta", index, delta: { type, [key]: text } }) as const);
  switch (part.type) {
    case "text":
      return [start({ type: "text", text: "" }), ...deltas(part.deltas, "text_delta", "text"), stop];
    case "thinking":
      return [
        start({ type: "thinking", thinking: "", signature: "" }),
        ...deltas(part.deltas, "thinking_delta", "thinking"),
        ...deltas([part.token ?? "signed"], "signature_delta", "signature"),
        stop,
      ];
    case "call":
      return [
        start({ type: "tool_use", id: part.id, name: part.tool, input: {} }),
        ...deltas(part.pieces, "input_json_delta", "partial_json"),
        stop,
      ];
    default:
      return part satisfies never;
  }
}

/** The part of the input that is cached is not in `input_tokens`. */
function usageFields({ input, cached, written, output, reasoning }: Usage): object {
  return {
    input_tokens: input === null ? null : input - (cached ?? 0) - (written ?? 0),
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: written ?? null,
    output_tokens: output,
    ...(reasoning !== null && { output_tokens_details: { thinking_tokens: reasoning } }),
  };
}

type Json = { readonly [key: string]: unknown };
type Refuse = (problem: string) => void;
type Block = ContentBlockParam & { cache_control?: unknown };

export function messagesLines(json: Json, refuse: Refuse): Line[] {
  const body = json as unknown as MessageCreateParamsStreaming & { temperature?: number };
  checkSettings(body, refuse);
  const system = typeof body.system === "string" ? body.system : (body.system ?? []).map(({ text }) => text).join("");
  const lines: Line[] = system === "" ? [] : [{ role: "system", text: system, images: 0, calls: [] }];
  if (body.messages[0]?.role !== "user") refuse("messages: the first message must use the user role");
  for (const [index, { role, content }] of body.messages.entries()) {
    const at = `messages.${index}`;
    const blocks: Block[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
    if (blocks.length === 0) refuse(`${at}: content must not be empty`);
    if (role === body.messages[index - 1]?.role) refuse(`${at}: roles must alternate`);
    lines.push(...(role === "assistant" ? [replyLine(blocks, at, refuse)] : userLines(blocks, at, refuse)));
  }
  checkMarks(json, refuse);
  return lines;
}

function checkSettings(
  { max_tokens, thinking, temperature, tool_choice }: MessageCreateParamsStreaming & { temperature?: number },
  refuse: Refuse,
) {
  if (!Number.isInteger(max_tokens) || max_tokens < 1) refuse("max_tokens: Field required");
  if (thinking?.type === "enabled" && (thinking.budget_tokens < 1024 || thinking.budget_tokens >= max_tokens))
    refuse("thinking.budget_tokens: must be at least 1024 and less than max_tokens");
  if (thinking !== undefined && thinking.type !== "disabled" && temperature !== undefined && temperature !== 1)
    refuse("temperature: may only be set to 1 when thinking is enabled");
  if (tool_choice !== undefined && tool_choice.type !== "none" && tool_choice.type !== "auto")
    refuse("tool_choice: Thinking may not be enabled when tool_choice forces tool use");
}

function replyLine(blocks: readonly Block[], at: string, refuse: Refuse): Line {
  const last = blocks.at(-1)?.type;
  if (last === "thinking" || last === "redacted_thinking")
    refuse(`${at}: the final block must not be a thinking block`);
  const calls: Line["calls"] = [];
  for (const block of blocks) {
    if (block.type === "tool_use")
      calls.push({ id: block.id, tool: block.name, arguments: JSON.stringify(block.input) });
    else if (block.type === "thinking" && typeof block.signature !== "string")
      refuse(`${at}.thinking.signature: Field required`);
    else if (!["text", "thinking", "redacted_thinking"].includes(block.type))
      refuse(`${at}: a block of type ${block.type}`);
  }
  return { role: "assistant", ...contentOf(blocks, at, refuse), calls };
}

/** Results come first, each as a line of its own. */
function userLines(blocks: readonly Block[], at: string, refuse: Refuse): Line[] {
  const lines: Line[] = [];
  for (const block of blocks) {
    if (block.type === "tool_result") {
      if (lines.some(({ role }) => role === "user")) refuse(`${at}: tool_result blocks must come first`);
      const content =
        typeof block.content === "string" ? [{ type: "text" as const, text: block.content }] : block.content;
      const shown = contentOf((content ?? []) as Block[], at, refuse);
      lines.push({ role: "tool", ...shown, calls: [], call: block.tool_use_id });
      continue;
    }
    lines.push({ role: "user", ...contentOf([block], at, refuse), calls: [] });
  }
  return joined(lines);
}

/** Neighbouring blocks of a prompt are one line. */
function joined(lines: readonly Line[]): Line[] {
  const result: Line[] = [];
  for (const line of lines) {
    const last = result.at(-1);
    if (last?.role === "user" && line.role === "user")
      result[result.length - 1] = { ...last, text: last.text + line.text, images: last.images + line.images };
    else result.push(line);
  }
  return result;
}

function contentOf(blocks: readonly Block[], at: string, refuse: Refuse): { text: string; images: number } {
  let text = "";
  let images = 0;
  for (const block of blocks) {
    if (block.type === "text") {
      if (block.text.trim() === "") refuse(`${at}: text content blocks must contain non-whitespace text`);
      text += block.text;
    }
    if (block.type !== "image") continue;
    images++;
    const { source } = block;
    if (
      source.type !== "base64" ||
      !/^image\/[a-z]+$/.test(source.media_type) ||
      !/^[A-Za-z0-9+/]+=*$/.test(source.data)
    )
      refuse(`${at}.image.source: not an image in base64`);
  }
  return { text, images };
}

function checkMarks(body: Json, refuse: Refuse): void {
  const marks = JSON.stringify(body).match(/"cache_control":/g)?.length ?? 0;
  if (marks > 4) refuse(`A maximum of 4 blocks with cache_control may be provided. Found ${marks}`);
}
