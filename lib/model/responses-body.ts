import type {
  FunctionTool,
  ResponseCreateParamsStreaming,
  ResponseInputImage,
  ResponseInputItem,
  ResponseInputText,
  ResponseReasoningItem,
} from "openai/resources/responses/responses";
import { type BodyFields, cacheKeyFor, contentForm, dataUrl, outputLimit, wireName } from "./body.ts";
import { bodyText, listWriter } from "./bodytext.ts";
import type { ModelEndpoint } from "./endpoint.ts";
import {
  type AssistantMessage,
  type ImagePart,
  type Message,
  repliedParts,
  type TextPart,
  type ThinkingPart,
} from "./message.ts";
import type { ModelInfo, ModelRequest, ToolOffer } from "./model.ts";
import { sealedIn } from "./thought.ts";

type Params = BodyFields<ResponseCreateParamsStreaming>;

/** The bodies of Responses requests. */
export function responsesBodies(endpoint: ModelEndpoint): (request: ModelRequest) => string {
  const textsOf = listWriter((forms, messages, position) => {
    forms.push(...itemForms(messages[position], endpoint.info));
  });
  return (request) => {
    const choice = request.tools.length > 0 && request.withoutTools ? "none" : undefined;
    const items = { name: "input", texts: textsOf(request.messages) };
    const { first, last } = outputLimit(request, endpoint.info, endpoint.settings.maxOutputTokens);
    return bodyText(settingsOf(request, endpoint, first), items, {
      tool_choice: choice,
      max_output_tokens: last,
    } satisfies Params);
  };
}

/** The provider stores nothing. */
function settingsOf(request: ModelRequest, endpoint: ModelEndpoint, longest: number | undefined): Params {
  const { tools, system } = request;
  const { info, settings } = endpoint;
  const { temperature, reasoningEffort } = settings;
  const { refuses = [] } = info;
  const reasons = !refuses.includes("reasoning_effort") && !refuses.includes("include");
  return {
    model: info.name,
    stream: true,
    store: false,
    include: reasons ? ["reasoning.encrypted_content"] : undefined,
    temperature,
    max_output_tokens: longest,
    prompt_cache_key: cacheKeyFor(request, endpoint),
    reasoning: reasoningEffort && { effort: reasoningEffort },
    tools: tools.length > 0 ? tools.map(toolForm) : undefined,
    instructions: system,
  };
}

function toolForm({ name, about, input }: ToolOffer): FunctionTool {
  // The default, strict, refuses every schema with an optional property.
  return { type: "function", name, description: about, parameters: input, strict: false };
}

/** A reasoning item has an id only at a provider that stores it. */
type ItemForm = Exclude<ResponseInputItem, ResponseReasoningItem> | Omit<ResponseReasoningItem, "id">;

function itemForms(message: Message | undefined, info: ModelInfo): ItemForm[] {
  switch (message?.role) {
    case undefined:
      return [];
    case "user":
      return [{ role: "user", content: contentForm(message.parts, info.images, partForm) }];
    case "assistant":
      return assistantForms(message, info);
    case "tool": {
      const output = contentForm(message.parts, info.images, partForm) || "(empty)";
      return [{ type: "function_call_output", call_id: message.call, output }];
    }
    default:
      return message satisfies never;
  }
}

function partForm(part: TextPart | ImagePart): ResponseInputText | ResponseInputImage {
  if (part.type === "text") return { type: "input_text", text: part.text };
  return { type: "input_image", image_url: dataUrl(part), detail: "auto" };
}

function assistantForms(message: AssistantMessage, info: ModelInfo): ItemForm[] {
  return repliedParts(message).flatMap((part): ItemForm[] => {
    switch (part.type) {
      case "text":
        return part.text === "" ? [] : [{ role: "assistant", content: part.text }];
      case "thinking": {
        const sealed = sealedIn(part.token, info);
        if (sealed?.field !== "encrypted_content") return [];
        return [{ type: "reasoning", summary: summaryOf(part), encrypted_content: sealed.value }];
      }
      case "call":
        return [{ type: "function_call", call_id: part.id, name: wireName(part.tool), arguments: part.arguments }];
      default:
        return part satisfies never;
    }
  });
}

function summaryOf({ text }: ThinkingPart): ResponseReasoningItem.Summary[] {
  return text === "" ? [] : [{ type: "summary_text", text }];
}
