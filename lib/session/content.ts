import type { ImagePart, TextPart } from "../model/message.ts";
import type { Item } from "./item.ts";

/** Its queries and results would be found before the texts that they quote. */
const recallTool = "RecallContext";

/** The text of an item for the full-text index. */
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
    case "compaction":
      return item.text;
    case "turn_start":
    case "trim":
    case "images_removed":
    case "rollback":
      return "";
    case "turn_end":
      return item.error?.message ?? "";
    default:
      return item satisfies never;
  }
}

export function textOfParts(parts: readonly (TextPart | ImagePart)[]): string {
  return parts.map(textOfPart).join("\n");
}

export function textOfPart(part: TextPart | ImagePart): string {
  return part.type === "text" ? part.text : `[${part.mime} image]`;
}
