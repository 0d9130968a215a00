import type {
  ImageBlockParam,
  MessageCreateParamsStreaming,
  MessageParam,
  RedactedThinkingBlockParam,
  TextBlockParam,
  ThinkingBlockParam,
  Tool,
  ToolResultBlockParam,
  ToolUseBlockParam,
} from "@anthropic-ai/sdk/resources/messages";
import { isRecord, parseJson } from "../config/json.ts";
import { isGoogleMessages } from "./address.ts";
import { type BodyFields, contentForm, outputLimit, wireName } from "./body.ts";
import { bodyText, blockWriter, type Written } from "./bodytext.ts";
import { thinkingSettings } from "./effort.ts";
import type { ModelEndpoint } from "./endpoint.ts";
import {
  type AssistantMessage,
  type CallPart,
  type ImagePart,
  type Message,
  repliedParts,
  type TextPart,
  type ThinkingPart,
  type ToolMessage,
  type UserMessage,
} from "./message.ts";
import type { ModelInfo, ModelRequest, ToolOffer } from "./model.ts";
import { sealedIn } from "./thought.ts";

/** The version is a field only with Google. */
type Params = BodyFields<MessageCreateParamsStreaming> & { anthropic_version?: string };

/** The bodies of Messages requests. */
export function messagesBodies({ provider, info, settings }: ModelEndpoint): (request: ModelRequest) => string {
  const longest = settings.maxOutputTokens ?? info.maxOutput ?? usualMaxOutput;
  const blocksOf = blockWriter((messages, position) => blockForms(messages[position], info));
  return (request) => {
    const { tools, system, messages, withoutTools } = request;
    const { first, last } = outputLimit(request, info, longest);
    const before = {
      ...(isGoogleMessages(provider) ? { anthropic_version: "vertex-2023-10-16" } : { model: info.name }),
      stream: true,
      max_tokens: first,
      ...thinkingSettings(info, settings, { usual: longest, next: last ?? longest }),
      tools: tools.length > 0 ? toolForms(tools) : undefined,
      system: system === "" ? undefined : [{ type: "text", text: system, cache_control: mark }],
    } satisfies Params;
    const choice = tools.length > 0 && withoutTools ? ({ type: "none" } as const) : undefined;
    const texts = turnsOf(blocksOf(messages));
    return bodyText(before, { name: "messages", texts }, { tool_choice: choice, max_tokens: last } satisfies Params);
  };
}

/** The API requires a limit, and models of recent years take this one. */
const usualMaxOutput = 32_000;

/** A breakpoint of the provider's prompt cache: it keeps everything up to here. */
const mark = { type: "ephemeral" } as const;

/** The last is marked: tools stay cached when another agent has another system prompt. */
function toolForms(tools: readonly ToolOffer[]): Tool[] {
  return tools.map(({ name, about, input }, index) => ({
    name,
    description: about,
    input_schema: { ...input, type: "object" },
    ...(index === tools.length - 1 && { cache_control: mark }),
  }));
}

/**
 * The messages as turns of user and assistant: results and prompts that follow each other are one turn. The last block
 * is marked, so that the next request reads all of this one from the cache; so is the last block of the request before,
 * since the provider looks back only twenty blocks from a mark, and one reply may have more calls than that.
 */
function turnsOf({ messages, texts, ends }: Written): string[] {
  const reply = messages.findLastIndex(({ role }) => role === "assistant");
  const marks = new Set([reply - 1, messages.length - 1]);
  const turns: { role: MessageParam["role"]; blocks: string[] }[] = [];
  for (const [index, { role: by }] of messages.entries()) {
    const role = by === "assistant" ? "assistant" : "user";
    const own = texts.slice(ends[index - 1] ?? 0, ends[index]);
    if (own.length === 0) continue;
    const shown = marks.has(index) && role === "user" ? [...own.slice(0, -1), markedText(own.at(-1) ?? "")] : own;
    const turn = turns.at(-1);
    if (turn?.role === role) turn.blocks.push(...shown);
    else turns.push({ role, blocks: [...shown] });
  }
  return turns.map((turn) => `{"role":"${turn.role}","content":[${turn.blocks.join(",")}]}`);
}

function markedText(block: string): string {
  return `${block.slice(0, -1)},"cache_control":${JSON.stringify(mark)}}`;
}

/** Blocks, or their JSON. */
function blockForms(message: Message | undefined, info: ModelInfo): readonly (object | string)[] {
  switch (message?.role) {
    case undefined:
      return [];
    case "user":
      return promptForms(message, info);
    case "assistant":
      return replyForms(message, info);
    case "tool":
      return [resultForm(message, info)];
    default:
      return message satisfies never;
  }
}

function promptForms({ parts }: UserMessage, { images }: ModelInfo): (TextBlockParam | ImageBlockParam)[] {
  const content = contentForm(parts, images, partForm);
  const forms = typeof content === "string" ? [partForm({ type: "text", text: content })] : content;
  return forms.every(isBlank) ? [{ type: "text", text: "(empty)" }] : forms.filter((form) => !isBlank(form));
}

function resultForm({ call, ok, parts }: ToolMessage, { images }: ModelInfo): ToolResultBlockParam {
  const content = contentForm(parts, images, partForm);
  const shown = typeof content === "string" ? content : content.filter((form) => !isBlank(form));
  return {
    type: "tool_result",
    tool_use_id: callId(call),
    content: typeof shown === "string" && shown.trim() === "" ? "(empty)" : shown,
    ...(!ok && { is_error: true }),
  };
}

/** The API refuses a text of nothing but white space. */
function isBlank(form: TextBlockParam | ImageBlockParam): boolean {
  return form.type === "text" && form.text.trim() === "";
}

function partForm(part: TextPart | ImagePart): TextBlockParam | ImageBlockParam {
  if (part.type === "text") return { type: "text", text: part.text };
  const { mime, base64: data } = part;
  // The provider checks the kind of the image, and says it better.
  const media_type = mime as "image/png";
  return { type: "image", source: { type: "base64", media_type, data } };
}

function replyForms(message: AssistantMessage, info: ModelInfo): readonly (object | string)[] {
  return repliedParts(message).flatMap((part): (object | string)[] => {
    switch (part.type) {
      case "text":
        return part.text.trim() === "" ? [] : [{ type: "text", text: part.text } satisfies TextBlockParam];
      case "thinking":
        return thoughtForms(part, info);
      case "call":
        return [callText(part)];
      default:
        return part satisfies never;
    }
  });
}

function thoughtForms(
  { text, token }: ThinkingPart,
  info: ModelInfo,
): (ThinkingBlockParam | RedactedThinkingBlockParam)[] {
  const sealed = sealedIn(token, info);
  if (sealed?.field === "signature") return [{ type: "thinking", thinking: text, signature: sealed.value }];
  return sealed?.field === "redacted_thinking" ? [{ type: "redacted_thinking", data: sealed.value }] : [];
}

/** The arguments go back as the model wrote them. The API takes only an object, so others are put into one. */
function callText({ id, tool, arguments: text }: CallPart): string {
  const call = { type: "tool_use", id: callId(id), name: wireName(tool), input: {} } satisfies ToolUseBlockParam;
  const input = isRecord(parseJson(text)) ? text : JSON.stringify({ malformed: text });
  return JSON.stringify(call).replace(/\{\}\}$/, () => `${input}}`);
}

/** Other providers' ids have characters that the API refuses. */
function callId(id: string): string {
  return /^[\w-]{1,64}$/.test(id) ? id : `call_${Bun.hash(id).toString(36)}`;
}
