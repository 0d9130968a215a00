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
import type { ModelRequest, ToolOffer } from "./model.ts";
import type { Quirks } from "./providers.ts";
import type { Endpoint } from "./stream.ts";
import { dataUrl, omittedImage, wireName } from "./wording.ts";

/**
 * The body of a Chat Completions request. The order of its keys is load-bearing: what can change from one request to
 * the next comes after the messages, so that each request begins with the bytes of the one before it and the provider's
 * prompt cache holds.
 */
export function chatBody(request: ModelRequest, { provider, info, settings }: Endpoint): object {
  const quirks = provider.quirks ?? {};
  const { temperature, maxOutputTokens, reasoningEffort } = settings;
  return {
    model: info.name,
    stream: true,
    ...(!quirks.plainStream && { stream_options: { include_usage: true } }),
    ...(temperature !== undefined && { temperature }),
    ...(maxOutputTokens !== undefined && { [quirks.maxTokens ?? "max_completion_tokens"]: maxOutputTokens }),
    ...(reasoningEffort !== undefined && { reasoning_effort: reasoningEffort }),
    ...(request.tools.length > 0 && { tools: request.tools.map(toolForm) }),
    messages: [
      { role: "system", content: request.system },
      ...messageForms(request.messages, { quirks, images: info.images }),
    ],
    ...(request.withoutTools && request.tools.length > 0 && { tool_choice: "none" }),
  };
}

type Ways = { quirks: Quirks; images: boolean | undefined };

function toolForm({ name, about, input }: ToolOffer): object {
  return { type: "function", function: { name, description: about, parameters: input } };
}

function messageForms(messages: readonly Message[], ways: Ways): object[] {
  return messages.flatMap((message, position) => {
    switch (message.role) {
      case "user":
        return [{ role: "user", content: contentForm(message.parts, ways) }];
      case "assistant":
        return assistantForm(message, ways);
      case "tool":
        return [resultForm(message, ways), ...imagesAfter(messages, position, ways)];
      default:
        return message satisfies never;
    }
  });
}

/** Plain text as a string, the form that every server takes. */
function contentForm(parts: readonly (TextPart | ImagePart)[], { images }: Ways): string | object[] {
  if (images === false || parts.every((part) => part.type === "text")) {
    return parts.map((part) => (part.type === "text" ? part.text : omittedImage)).join("\n");
  }
  return parts
    .filter((part) => part.type === "image" || part.text !== "")
    .map((part) => (part.type === "text" ? { type: "text", text: part.text } : imageForm(part)));
}

function imageForm(image: ImagePart): object {
  return { type: "image_url", image_url: { url: dataUrl(image) } };
}

/** A reply that was nothing but a thought has no form here, and nobody misses it. */
function assistantForm(message: AssistantMessage, ways: Ways): object[] {
  const text = textOf(message);
  const calls = callsOf(message);
  if (text === "" && calls.length === 0) return [];
  const thinking = ways.quirks.echoThinking ? thinkingOf(message) : "";
  return [
    {
      role: "assistant",
      content: text === "" ? null : text,
      ...(thinking !== "" && { reasoning_content: thinking }),
      ...(calls.length > 0 && { tool_calls: calls.map((call) => callForm(call, ways)) }),
    },
  ];
}

function thinkingOf(message: AssistantMessage): string {
  return message.parts.map((part) => (part.type === "thinking" ? part.text : "")).join("");
}

function callForm({ id, tool, arguments: text }: CallPart, { quirks }: Ways): object {
  return { id: callId(id, quirks), type: "function", function: { name: wireName(tool), arguments: text } };
}

function resultForm(message: ToolMessage, { quirks, images }: Ways): object {
  const placeholder = images === false ? omittedImage : "[image: see the next message]";
  const content = message.parts.map((part) => (part.type === "text" ? part.text : placeholder)).join("\n");
  return { role: "tool", tool_call_id: callId(message.call, quirks), content: content === "" ? "(empty)" : content };
}

/** A result cannot hold an image here: those of all results of one reply follow the last of them as the user's. */
function imagesAfter(messages: readonly Message[], position: number, { images }: Ways): object[] {
  if (images === false || messages[position + 1]?.role === "tool") return [];
  const first = messages.findLastIndex((message, index) => index < position && message.role !== "tool") + 1;
  const results = messages.slice(first, position + 1).filter((message) => message.role === "tool");
  const content = results.flatMap(({ tool, parts }) => {
    const shown = parts.filter((part) => part.type === "image");
    return shown.length === 0 ? [] : [{ type: "text", text: `What ${tool} gave:` }, ...shown.map(imageForm)];
  });
  return content.length === 0 ? [] : [{ role: "user", content }];
}

/** The same id for a call and its result, in the form that the provider insists on. */
function callId(id: string, { callIdLength }: Quirks): string {
  if (callIdLength === undefined || new RegExp(`^[a-zA-Z0-9]{${callIdLength}}$`).test(id)) return id;
  return Bun.hash(id).toString(36).padStart(callIdLength, "0").slice(-callIdLength);
}
