import type { ImagePart, TextPart } from "../model/message.ts";

/** For text and for quoted attributes alike. */
export function escaped(text: string): string {
  return Bun.escapeHTML(text);
}

/** Text as it stands, and images that are part of the page. */
export function htmlBlocks(parts: readonly (TextPart | ImagePart)[]): string {
  return parts.map(htmlBlock).join("");
}

function htmlBlock(part: TextPart | ImagePart): string {
  if (part.type === "text") return part.text === "" ? "" : `<pre>${escaped(part.text.replace(/\n$/, ""))}</pre>`;
  return `<img alt="image" src="data:${escaped(part.mime)};base64,${escaped(part.base64)}">`;
}
