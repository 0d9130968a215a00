/**
 * A conversation as the model sees it, independent of the wire. A message that was sent is never changed: each request
 * begins with the bytes of the one before, or the provider's prompt cache is lost.
 */
export type TextPart = { type: "text"; text: string };
export type ImagePart = { type: "image"; mime: string; base64: string };

/** `token` is opaque: a wire needs it to send the thought back (thought.ts). */
export type ThinkingPart = { type: "thinking"; text: string; token?: string };

/** `arguments` is JSON text as the model wrote it: perhaps malformed, and sent back unchanged. `token` is opaque. */
export type CallPart = { type: "call"; id: string; tool: string; arguments: string; token?: string };

export type UserMessage = { role: "user"; parts: readonly (TextPart | ImagePart)[] };
export type AssistantMessage = { role: "assistant"; parts: readonly (TextPart | ThinkingPart | CallPart)[] };
export type ToolMessage = {
  role: "tool";
  call: string;
  tool: string;
  ok: boolean;
  parts: readonly (TextPart | ImagePart)[];
};

export type Message = UserMessage | AssistantMessage | ToolMessage;

/** The parts that can go back: providers refuse a thought that nothing of the model's follows. */
export function repliedParts({ parts }: AssistantMessage): AssistantMessage["parts"] {
  return parts.slice(0, parts.findLastIndex(isSaid) + 1);
}

function isSaid(part: AssistantMessage["parts"][number]): boolean {
  return part.type === "call" || (part.type === "text" && part.text.trim() !== "");
}

export function includesImage(parts: readonly (TextPart | ImagePart)[]): boolean {
  for (const part of parts) if (part.type === "image") return true;
  return false;
}

export function textOf(message: Message): string {
  let text = "";
  for (const part of message.parts) if (part.type === "text") text += part.text;
  return text;
}
