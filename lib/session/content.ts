import type { ImagePart, TextPart } from "../model/message.ts";
import type { Item } from "./item.ts";

/** The tool that looks back: what it was asked and what it found would be found again, before what was really said. */
const recallTool = "RecallContext";

/** Everything in an item that may be looked for. */
export function searchableText(item: Item): string {
  switch (item.kind) {
    case "environment":
    case "note":
      return item.text;
    case "user":
      return textOfParts(item.parts);
    case "result":
      return item.tool === recallTool ? "" : textOfParts(item.parts);
    case "assistant":
      return item.parts
        .filter((part) => part.type !== "call" || part.tool !== recallTool)
        .map((part) => (part.type === "call" ? `${part.tool} ${part.arguments}` : part.text))
        .filter((text) => text !== "")
        .join("\n");
    case "todo":
      return item.items.map(({ text, status }) => `[${status}] ${text}`).join("\n");
    case "turn_start":
      return "";
    case "turn_end":
      return item.error?.message ?? "";
    default:
      return item satisfies never;
  }
}

export function textOfParts(parts: readonly (TextPart | ImagePart)[]): string {
  return parts.map((part) => (part.type === "text" ? part.text : `[${part.mime} image]`)).join("\n");
}
