import { cutBefore } from "./graphemes.ts";
import type { ItemOf, LoggedItem } from "./item.ts";

type Trimmed = (ItemOf<"result"> | ItemOf<"user">) & LoggedItem;

/** Two thirds of what is left are the beginning of the text, one third is its end. */
const headShare = 2 / 3;

/** A result or prompt as the model sees it once at most this many characters of its text are sent. */
export function trimmed(item: Trimmed, length: number): Trimmed {
  const text = item.parts.map((part) => (part.type === "text" ? part.text : "[image]")).join("\n");
  if (text.length <= length && item.parts.every(({ type }) => type === "text")) return item;
  const head = text.slice(0, cutBefore(text, Math.floor(length * headShare)));
  const tail = text.slice(cutBefore(text, text.length - (length - head.length)));
  const left = text.length - head.length - tail.length;
  const stored = item.kind === "user" || item.output === undefined ? "" : ` or output "${item.output}"`;
  const note = `[${left} characters were left out to save space; RecallContext with turn ${item.turn}${stored} has them]`;
  const shown = [head, note, tail].filter((piece) => piece !== "").join("\n");
  return { ...item, parts: [{ type: "text", text: shown }] };
}
