import type { ImagePart, TextPart } from "../model/message.ts";
import type { Item } from "./item.ts";

/** All words of an item, for searching and for reading; what it says beyond words is left out. */
export function textOfItem(item: Item): string {
  switch (item.kind) {
    case "environment":
    case "note":
      return item.text;
    case "user":
    case "result":
      return textOfParts(item.parts);
    case "assistant":
      return item.parts
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
