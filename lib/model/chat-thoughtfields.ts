import { arrayIn, parseJson } from "../config/json.ts";
import type { AssistantMessage, ThinkingPart } from "./message.ts";
import type { ModelInfo } from "./model.ts";
import type { Quirks } from "./providers.ts";
import { sealedIn } from "./thought.ts";

/** The fields of a reply that hold its thoughts; each goes back in the one that it came in. */
export type ThoughtFields = {
  reasoning_content: string;
  reasoning: string;
  reasoning_details: readonly unknown[];
  extra_content: unknown;
  /** The beginning of the content. */
  think_tag: string;
  /** Parts of the content. */
  content: readonly { type: "thinking"; thinking: readonly { type: "text"; text: string }[] }[];
};

export function thoughtFields(
  { parts }: AssistantMessage,
  { quirks, info }: { quirks: Quirks; info: ModelInfo },
): Partial<ThoughtFields> | undefined {
  let fields: Partial<ThoughtFields> | undefined;
  let text = "";
  for (const part of parts) {
    if (part.type !== "thinking") continue;
    addField((fields ??= {}), part, info);
    text += part.text;
  }
  if (!quirks.echoThinking || info.thoughts === false) return fields;
  // The least that is accepted beside a call.
  if (text === "" && parts.some(({ type }) => type === "call")) text = " ";
  return text === "" ? fields : { reasoning_content: text, ...fields };
}

function addField(fields: Partial<ThoughtFields>, { text, token }: ThinkingPart, info: ModelInfo): void {
  const sealed = sealedIn(token, info);
  if (sealed === undefined) return;
  switch (sealed.field) {
    case "reasoning_content":
    case "reasoning":
      fields[sealed.field] = (fields[sealed.field] ?? "") + text;
      break;
    case "reasoning_details":
      fields.reasoning_details = [...(fields.reasoning_details ?? []), ...detailsIn(sealed.value)];
      break;
    case "thinking":
      fields.content = [...(fields.content ?? []), { type: "thinking", thinking: [{ type: "text", text }] }];
      break;
    case "think_tag":
      fields.think_tag = (fields.think_tag ?? "") + sealed.value;
      break;
    case "extra_content":
      fields.extra_content = parseJson(sealed.value);
      break;
    case "encrypted_content":
    case "signature":
    case "redacted_thinking":
      break;
    default:
      sealed.field satisfies never;
  }
}

function detailsIn(json: string): readonly unknown[] {
  return arrayIn({ details: parseJson(json) }, "details");
}
