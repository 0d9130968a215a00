import { contentForm, dataUrl, omittedImage, outputLimit, wireName } from "./body.ts";
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
import type { ModelRequest, ToolOffer } from "./model.ts";
import type { Quirks } from "./providers.ts";

/**
 * The body of a Chat Completions request; JSON leaves out its undefined values. The order of the keys matters: the
 * messages come last, so that each request begins with the bytes of the one before and the prompt cache applies.
 */
export function chatBody(request: ModelRequest, { provider, info, settings }: ModelEndpoint): object {
  const quirks = provider.quirks ?? {};
  const { temperature, reasoningEffort } = settings;
  const limit = outputLimit(request, settings);
  const limitKey = quirks.maxTokens ?? "max_completion_tokens";
  const hasTools = request.tools.length > 0;
  return {
    model: info.name,
    stream: true,
    stream_options: quirks.plainStream ? undefined : { include_usage: true },
    temperature,
    ...(limit.first !== undefined && { [limitKey]: limit.first }),
    reasoning_effort: reasoningEffort,
    tools: hasTools ? request.tools.map(toolForm) : undefined,
    messages: [
      { role: "system", content: request.system },
      ...messageForms(request.messages, { quirks, images: info.images }),
    ],
    tool_choice: hasTools && request.withoutTools ? "none" : undefined,
    ...(limit.last !== undefined && { [limitKey]: limit.last }),
  };
}

type FormOptions = { quirks: Quirks; images: boolean | undefined };

function toolForm({ name, about, input }: ToolOffer): object {
  return { type: "function", function: { name, description: about, parameters: input } };
}

function messageForms(messages: readonly Message[], options: FormOptions): object[] {
  return messages.flatMap((message, position) => {
    switch (message.role) {
      case "user":
        return [{ role: "user", content: contentForm(message.parts, options.images, partForm) }];
      case "assistant":
        return assistantForm(message, options);
      case "tool":
        return [resultForm(message, options), ...imagesAfter(messages, position, options)];
      default:
        return message satisfies never;
    }
  });
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
