import type {
  ChatCompletionAssistantMessageParam,
  ChatCompletionContentPart,
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageFunctionToolCall,
  ChatCompletionMessageParam,
  ChatCompletionTool,
  ChatCompletionToolMessageParam,
  ChatCompletionUserMessageParam,
} from "openai/resources/chat/completions";
import { parseJson } from "../config/json.ts";
import {
  type BodyFields,
  cacheKeyFor,
  contentForm,
  dataUrl,
  omittedImage,
  outputLimit,
  textForm,
  wireName,
} from "./body.ts";
import { bodyText, listWriter } from "./bodytext.ts";
import { type ThoughtFields, thoughtFields } from "./chat-thoughtfields.ts";
import type { ModelEndpoint } from "./endpoint.ts";
import {
  type AssistantMessage,
  type CallPart,
  type ImagePart,
  includesImage,
  type Message,
  type TextPart,
  type ToolMessage,
} from "./message.ts";
import type { ModelInfo, ModelRequest, OptionalParameter, ToolOffer } from "./model.ts";
import type { Quirks } from "./providers.ts";
import { sealedIn } from "./thought.ts";

/** OpenRouter's `cache_control` moves with the end of the conversation. */
type Params = BodyFields<ChatCompletionCreateParamsStreaming> & { cache_control?: { type: "ephemeral" } | undefined };

/** The bodies of Chat Completions requests. */
export function chatBodies(endpoint: ModelEndpoint): (request: ModelRequest) => string {
  const { provider, info, settings } = endpoint;
  const quirks = provider.quirks ?? {};
  const options = { quirks, info };
  const textsOf = listWriter((forms, messages, position) => {
    const form = messageForm(messages[position], options);
    if (form !== undefined) forms.push(form);
    const images = imagesAfter(messages, position, options);
    if (images !== undefined) forms.push(images);
  });
  return (request) => {
    const system = JSON.stringify({ role: "system", content: request.system } satisfies ChatCompletionMessageParam);
    const messages = { name: "messages", texts: [system, ...textsOf(request.messages)] };
    const choice = request.tools.length > 0 && request.withoutTools ? "none" : undefined;
    const key = limitName(quirks, info);
    const { first, last } = outputLimit(request, info, settings.maxOutputTokens);
    const before = settingsOf(request, endpoint, { [key]: first });
    return bodyText(before, messages, { tool_choice: choice, [key]: last } satisfies Params);
  };
}

function limitName({ maxTokens }: Quirks, { refuses = [] }: ModelInfo): keyof Params & OptionalParameter {
  const usual = maxTokens ?? "max_completion_tokens";
  if (!refuses.includes(usual)) return usual;
  return usual === "max_tokens" ? "max_completion_tokens" : "max_tokens";
}

function settingsOf(request: ModelRequest, endpoint: ModelEndpoint, longest: Params): Params {
  const { tools } = request;
  const { provider, info, settings } = endpoint;
  const { temperature, reasoningEffort } = settings;
  const isPlain = provider.quirks?.plainStream ?? info.refuses?.includes("stream_options");
  return {
    model: info.name,
    stream: true,
    stream_options: isPlain ? undefined : { include_usage: true },
    temperature,
    ...longest,
    reasoning_effort: reasoningEffort,
    prompt_cache_key: cacheKeyFor(request, endpoint),
    cache_control:
      provider.quirks?.cacheControl && info.name.startsWith("anthropic/") ? { type: "ephemeral" } : undefined,
    tools: tools.length > 0 ? tools.map(toolForm) : undefined,
  };
}

type FormOptions = { quirks: Quirks; info: ModelInfo };

/** OpenAI's own API has no field for a thought, and no signatures. */
type AssistantForm = Omit<ChatCompletionAssistantMessageParam, "content"> &
  Omit<Partial<ThoughtFields>, "content" | "think_tag"> & { content: string | null | readonly object[] };
type CallForm = ChatCompletionMessageFunctionToolCall & { extra_content?: unknown };
type MessageForm = ChatCompletionMessageParam | AssistantForm;

function toolForm({ name, about, input }: ToolOffer): ChatCompletionTool {
  return { type: "function", function: { name, description: about, parameters: input } };
}

function messageForm(message: Message | undefined, options: FormOptions): MessageForm | undefined {
  switch (message?.role) {
    case undefined:
      return undefined;
    case "user":
      return { role: "user", content: contentForm(message.parts, options.info.images, partForm) };
    case "assistant":
      return assistantForm(message, options);
    case "tool":
      return resultForm(message, options);
    default:
      return message satisfies never;
  }
}

function partForm(part: TextPart | ImagePart): ChatCompletionContentPart {
  return part.type === "text" ? part : { type: "image_url", image_url: { url: dataUrl(part) } };
}

/** A reply with nothing but a thought has no form here and is left out. */
function assistantForm(message: AssistantMessage, options: FormOptions): AssistantForm | undefined {
  let plain = "";
  let calls: CallForm[] | undefined;
  for (const part of message.parts) {
    if (part.type === "text") plain += part.text;
    else if (part.type === "call") (calls ??= []).push(callForm(part, options));
  }
  if (plain === "" && calls === undefined) return undefined;
  const thoughts = thoughtFields(message, options);
  const form: AssistantForm =
    thoughts === undefined
      ? { role: "assistant", content: plain === "" ? null : plain }
      : formWithThoughts(plain, thoughts);
  if (calls !== undefined) form.tool_calls = calls;
  return form;
}

function formWithThoughts(plain: string, fields: Partial<ThoughtFields>): AssistantForm {
  const { content, think_tag: tagged = "", ...thoughts } = fields;
  const text = tagged + plain;
  const said = content === undefined || text === "" ? text : [...content, { type: "text" as const, text }];
  return { role: "assistant", content: said === "" ? (content ?? null) : said, ...thoughts };
}

function callForm({ id, tool, arguments: text, token }: CallPart, { quirks, info }: FormOptions): CallForm {
  const form: CallForm = {
    id: callId(id, quirks),
    type: "function",
    function: { name: wireName(tool), arguments: text },
  };
  const signature = sealedIn(token, info);
  if (signature?.field === "extra_content") form.extra_content = parseJson(signature.value);
  return form;
}

function resultForm(message: ToolMessage, { quirks, info }: FormOptions): ChatCompletionToolMessageParam {
  const placeholder = info.images === false ? omittedImage : "[image: see the next message]";
  const content = textForm(message.parts, placeholder);
  return { role: "tool", tool_call_id: callId(message.call, quirks), content: content || "(empty)" };
}

/** A result cannot contain images: those of all results of one reply follow the last result, in a user message. */
function imagesAfter(
  messages: readonly Message[],
  position: number,
  { info }: FormOptions,
): ChatCompletionUserMessageParam | undefined {
  if (messages[position]?.role !== "tool" || messages[position + 1]?.role === "tool") return undefined;
  if (info.images === false) return undefined;
  const content: ChatCompletionContentPart[] = [];
  for (let at = position; ; at--) {
    const message = messages[at];
    if (message?.role !== "tool") break;
    if (!includesImage(message.parts)) continue;
    const shown = message.parts.filter((part) => part.type === "image");
    content.unshift({ type: "text", text: `Images from ${message.tool}:` }, ...shown.map(partForm));
  }
  return content.length === 0 ? undefined : { role: "user", content };
}

/** The id of a call and its result, shortened for providers that require a length. */
function callId(id: string, { callIdLength }: Quirks): string {
  if (callIdLength === undefined || new RegExp(`^[a-zA-Z0-9]{${callIdLength}}$`).test(id)) return id;
  return Bun.hash(id).toString(36).padStart(callIdLength, "0").slice(-callIdLength);
}
