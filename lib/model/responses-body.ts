import type { AssistantMessage, ImagePart, Message, TextPart } from "./message.ts";
import type { ModelInfo, ModelRequest, ToolOffer } from "./model.ts";
import type { Endpoint } from "./stream.ts";
import { thoughtOf } from "./thought.ts";
import { dataUrl, omittedImage, wireName } from "./wording.ts";

/** The body of a Responses request; for the order of its keys see chat-body.ts. Nothing is stored at the provider. */
export function responsesBody(request: ModelRequest, { info, settings }: Endpoint): object {
  const { temperature, maxOutputTokens, reasoningEffort } = settings;
  const reasons = !info.refuses?.includes("reasoning_effort");
  return {
    model: info.name,
    stream: true,
    store: false,
    ...(reasons && { include: ["reasoning.encrypted_content"] }),
    ...(temperature !== undefined && { temperature }),
    ...(maxOutputTokens !== undefined && { max_output_tokens: maxOutputTokens }),
    ...(reasoningEffort !== undefined && { reasoning: { effort: reasoningEffort } }),
    ...(request.tools.length > 0 && { tools: request.tools.map(toolForm) }),
    instructions: request.system,
    input: request.messages.flatMap((message) => itemForms(message, info)),
    ...(request.withoutTools && request.tools.length > 0 && { tool_choice: "none" }),
  };
}

function toolForm({ name, about, input }: ToolOffer): object {
  // Strict is the default here, and would refuse every schema with an optional property.
  return { type: "function", name, description: about, parameters: input, strict: false };
}

function itemForms(message: Message, info: ModelInfo): object[] {
  switch (message.role) {
    case "user":
      return [{ role: "user", content: contentForm(message.parts, info) }];
    case "assistant":
      return assistantForms(message, info);
    case "tool": {
      const output = contentForm(message.parts, info);
      return [{ type: "function_call_output", call_id: message.call, output: output === "" ? "(empty)" : output }];
    }
    default:
      return message satisfies never;
  }
}

function contentForm(parts: readonly (TextPart | ImagePart)[], { images }: ModelInfo): string | object[] {
  if (images === false || parts.every((part) => part.type === "text")) {
    return parts.map((part) => (part.type === "text" ? part.text : omittedImage)).join("\n");
  }
  return parts
    .filter((part) => part.type === "image" || part.text !== "")
    .map((part) =>
      part.type === "text"
        ? { type: "input_text", text: part.text }
        : { type: "input_image", image_url: dataUrl(part), detail: "auto" },
    );
}

/** A thought goes back only with what it led to: the provider refuses one that is followed by nothing of the model's. */
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
