import { contentForm, dataUrl, omittedImage, outputLimit, wireName } from "./body.ts";
import { bodyText, messageWriter } from "./bodytext.ts";
import type { ModelEndpoint } from "./endpoint.ts";
import {
  type AssistantMessage,
  callsOf,
  type CallPart,
  type ImagePart,
  type Message,
  type TextPart,
  textOf,
  type ToolMessage,
} from "./message.ts";
import type { ModelInfo, ModelRequest, OptionalParameter, ToolOffer } from "./model.ts";
import type { Quirks } from "./providers.ts";

/** The bodies of Chat Completions requests. */
export function chatBodies({ provider, info, settings }: ModelEndpoint): (request: ModelRequest) => string {
  const quirks = provider.quirks ?? {};
  const options = { quirks, images: info.images };
  const textsOf = messageWriter((messages, position) => messageForms(messages, position, options));
  return (request) => {
    const system = JSON.stringify({ role: "system", content: request.system });
    const messages = { name: "messages", texts: [system, ...textsOf(request.messages)] };
    const choice = request.tools.length > 0 && request.withoutTools ? "none" : undefined;
    const key = limitName(quirks, info);
    const { first, last } = outputLimit(request, settings);
    const before = settingsOf(request, { info, quirks, settings, longest: { [key]: first } });
    return bodyText(before, messages, { tool_choice: choice, [key]: last });
  };
}

function limitName({ maxTokens }: Quirks, { refuses = [] }: ModelInfo): OptionalParameter {
  const usual = maxTokens ?? "max_completion_tokens";
  if (!refuses.includes(usual)) return usual;
  return usual === "max_tokens" ? "max_completion_tokens" : "max_tokens";
}

type SettingsOptions = Pick<ModelEndpoint, "info" | "settings"> & { quirks: Quirks; longest: object };

function settingsOf({ tools }: ModelRequest, { info, quirks, settings, longest }: SettingsOptions): object {
  const { temperature, reasoningEffort } = settings;
  const isPlain = quirks.plainStream ?? info.refuses?.includes("stream_options");
  return {
    model: info.name,
    stream: true,
    stream_options: isPlain ? undefined : { include_usage: true },
    temperature,
    ...longest,
    reasoning_effort: reasoningEffort,
    tools: tools.length > 0 ? tools.map(toolForm) : undefined,
  };
}

type FormOptions = { quirks: Quirks; images: boolean | undefined };

function toolForm({ name, about, input }: ToolOffer): object {
  return { type: "function", function: { name, description: about, parameters: input } };
}

function messageForms(messages: readonly Message[], position: number, options: FormOptions): object[] {
  const message = messages[position];
  switch (message?.role) {
    case undefined:
      return [];
    case "user":
      return [{ role: "user", content: contentForm(message.parts, options.images, partForm) }];
    case "assistant":
      return assistantForm(message, options);
    case "tool":
      return [resultForm(message, options), ...imagesAfter(messages, position, options)];
    default:
      return message satisfies never;
  }
}

function partForm(part: TextPart | ImagePart): object {
  return part.type === "text" ? part : { type: "image_url", image_url: { url: dataUrl(part) } };
}

/** A reply with nothing but a thought has no form here and is left out. */
function assistantForm(message: AssistantMessage, options: FormOptions): object[] {
  const text = textOf(message);
  const calls = callsOf(message);
  if (text === "" && calls.length === 0) return [];
  const thinking = options.quirks.echoThinking ? thinkingOf(message) : "";
  return [
    {
      role: "assistant",
      content: text === "" ? null : text,
      ...(thinking !== "" && { reasoning_content: thinking }),
      ...(calls.length > 0 && { tool_calls: calls.map((call) => callForm(call, options)) }),
    },
  ];
}

function thinkingOf(message: AssistantMessage): string {
  return message.parts.map((part) => (part.type === "thinking" ? part.text : "")).join("");
}

function callForm({ id, tool, arguments: text }: CallPart, { quirks }: FormOptions): object {
  return { id: callId(id, quirks), type: "function", function: { name: wireName(tool), arguments: text } };
}

function resultForm(message: ToolMessage, { quirks, images }: FormOptions): object {
  const placeholder = images === false ? omittedImage : "[image: see the next message]";
  const content = message.parts.map((part) => (part.type === "text" ? part.text : placeholder)).join("\n");
  return { role: "tool", tool_call_id: callId(message.call, quirks), content: content || "(empty)" };
}

/** A result cannot contain images: those of all results of one reply follow the last result, in a user message. */
function imagesAfter(messages: readonly Message[], position: number, { images }: FormOptions): object[] {
  if (images === false || messages[position + 1]?.role === "tool") return [];
  const first = messages.findLastIndex((message, index) => index < position && message.role !== "tool") + 1;
  const results = messages.slice(first, position + 1).filter((message) => message.role === "tool");
  const content = results.flatMap(({ tool, parts }) => {
    const shown = parts.filter((part) => part.type === "image");
    return shown.length === 0 ? [] : [{ type: "text", text: `Images from ${tool}:` }, ...shown.map(partForm)];
  });
  return content.length === 0 ? [] : [{ role: "user", content }];
}

/** The id of a call and its result, shortened for providers that require a length. */
function callId(id: string, { callIdLength }: Quirks): string {
  if (callIdLength === undefined || new RegExp(`^[a-zA-Z0-9]{${callIdLength}}$`).test(id)) return id;
  return Bun.hash(id).toString(36).padStart(callIdLength, "0").slice(-callIdLength);
}
