import { contentForm, dataUrl, outputLimit, wireName } from "./body.ts";
import { bodyText, messageWriter } from "./bodytext.ts";
import type { ModelEndpoint } from "./endpoint.ts";
import type { AssistantMessage, ImagePart, Message, TextPart } from "./message.ts";
import type { ModelInfo, ModelRequest, ToolOffer } from "./model.ts";
import { thoughtOf } from "./thought.ts";

/** The bodies of Responses requests. */
export function responsesBodies(endpoint: ModelEndpoint): (request: ModelRequest) => string {
  const textsOf = messageWriter((messages, position) => itemForms(messages[position], endpoint.info));
  return (request) => {
    const choice = request.tools.length > 0 && request.withoutTools ? "none" : undefined;
    const items = { name: "input", texts: textsOf(request.messages) };
    const { first, last } = outputLimit(request, endpoint.settings);
    return bodyText(settingsOf(request, endpoint, first), items, { tool_choice: choice, max_output_tokens: last });
  };
}

/** The provider stores nothing. */
function settingsOf(
  { tools, system }: ModelRequest,
  { info, settings }: ModelEndpoint,
  longest: number | undefined,
): object {
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
    reasoning: reasoningEffort && { effort: reasoningEffort },
    tools: tools.length > 0 ? tools.map(toolForm) : undefined,
    instructions: system,
  };
}

function toolForm({ name, about, input }: ToolOffer): object {
  // The default, strict, refuses every schema with an optional property.
  return { type: "function", name, description: about, parameters: input, strict: false };
}

function itemForms(message: Message | undefined, info: ModelInfo): object[] {
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

function partForm(part: TextPart | ImagePart): object {
  if (part.type === "text") return { type: "input_text", text: part.text };
  return { type: "input_image", image_url: dataUrl(part), detail: "auto" };
}

/** The provider refuses a thought that nothing of the model's follows, so trailing thoughts are left out. */
function assistantForms({ parts }: AssistantMessage, info: ModelInfo): object[] {
  const last = parts.findLastIndex((part) => part.type === "call" || (part.type === "text" && part.text !== ""));
  return parts.slice(0, last + 1).flatMap((part): object[] => {
    switch (part.type) {
      case "text":
        return part.text === "" ? [] : [{ role: "assistant", content: part.text }];
      case "thinking": {
        const encrypted = thoughtOf(part.token, info);
        if (encrypted === undefined) return [];
        const summary = part.text === "" ? [] : [{ type: "summary_text", text: part.text }];
        return [{ type: "reasoning", summary, encrypted_content: encrypted }];
      }
      case "call":
        return [{ type: "function_call", call_id: part.id, name: wireName(part.tool), arguments: part.arguments }];
      default:
        return part satisfies never;
    }
  });
}
