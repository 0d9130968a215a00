import { contentForm, dataUrl, outputLimit, wireName } from "./body.ts";
import type { ModelEndpoint } from "./endpoint.ts";
import type { AssistantMessage, ImagePart, Message, TextPart } from "./message.ts";
import type { ModelInfo, ModelRequest, ToolOffer } from "./model.ts";
import { thoughtOf } from "./thought.ts";

/** The body of a Responses request; chat-body.ts explains the order of its keys. The provider stores nothing. */
export function responsesBody(request: ModelRequest, { info, settings }: ModelEndpoint): object {
  const { temperature, reasoningEffort } = settings;
  const limit = outputLimit(request, settings);
  const reasons = !info.refuses?.includes("reasoning_effort");
  const hasTools = request.tools.length > 0;
  return {
    model: info.name,
    stream: true,
    store: false,
    include: reasons ? ["reasoning.encrypted_content"] : undefined,
    temperature,
    ...(limit.first !== undefined && { max_output_tokens: limit.first }),
    reasoning: reasoningEffort && { effort: reasoningEffort },
    tools: hasTools ? request.tools.map(toolForm) : undefined,
    instructions: request.system,
    input: request.messages.flatMap((message) => itemForms(message, info)),
    tool_choice: hasTools && request.withoutTools ? "none" : undefined,
    ...(limit.last !== undefined && { max_output_tokens: limit.last }),
  };
}

function toolForm({ name, about, input }: ToolOffer): object {
  // The default, strict, refuses every schema with an optional property.
  return { type: "function", name, description: about, parameters: input, strict: false };
}

function itemForms(message: Message, info: ModelInfo): object[] {
  switch (message.role) {
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
