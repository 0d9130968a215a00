import type { ImagePart, TextPart } from "../model/message.ts";
import type { Item, ItemOf } from "./item.ts";

/** About what the bytes of a text come to, in tokens. */
export function estimateTokens(bytes: number): number {
  return Math.ceil(bytes / 3.5);
}

/** Some providers report only the part of the input that was not cached, or nothing but zeros. */
const leastCredible = 0.4;

/**
 * The size of a conversation in tokens: what the provider reported for the last reply, and an estimate of what was
 * added since. All of it is estimated when nothing was reported, or far too little.
 */
export class ContextSize {
  #reported: number | undefined;
  #sinceReport = 0;
  #estimated = 0;

  add(item: Item): void {
    const tokens = tokensOf(item);
    this.#estimated += tokens;
    this.#sinceReport += tokens;
    if (item.kind !== "assistant" || item.usage.input === null) return;
    this.#reported = item.usage.input + (item.usage.output ?? 0);
    this.#sinceReport = 0;
  }

  forgetReported(): void {
    this.#reported = undefined;
  }

  tokens(overhead: () => number): number {
    const reported = this.#reported === undefined ? 0 : this.#reported + this.#sinceReport;
    if (reported >= leastCredible * this.#estimated && this.#reported !== undefined) return reported;
    return overhead() + this.#estimated;
  }
}

/** The price of an image with most providers, whatever its bytes. */
export const imageTokens = 1_600;
/** Roles, ids and separators of a message. */
const messageTokens = 8;

/** About how many tokens the item takes in a request. */
export function tokensOf(item: Item): number {
  switch (item.kind) {
    case "environment":
    case "note":
    case "compaction":
      return item.text === "" ? 0 : messageTokens + estimateTokens(Buffer.byteLength(item.text));
    case "user":
    case "result":
      return messageTokens + tokensOfParts(item.parts);
    case "assistant":
      return messageTokens + estimateTokens(bytesOfReply(item.parts));
    case "todo":
    case "trim":
    case "images_removed":
    case "rollback":
    case "turn_start":
    case "turn_end":
      return 0;
    default:
      return item satisfies never;
  }
}

function tokensOfParts(parts: readonly (TextPart | ImagePart)[]): number {
  let tokens = 0;
  for (const part of parts)
    tokens += part.type === "image" ? imageTokens : estimateTokens(Buffer.byteLength(part.text));
  return tokens;
}

function bytesOfReply(parts: ItemOf<"assistant">["parts"]): number {
  let bytes = 0;
  for (const part of parts) {
    if (part.type === "call") bytes += Buffer.byteLength(part.arguments) + part.tool.length + part.id.length;
    else bytes += Buffer.byteLength(part.text);
    if (part.type === "thinking") bytes += part.token?.length ?? 0;
  }
  return bytes;
}
