import { cutBefore } from "../session/graphemes.ts";

export type Room = {
  /** How much of the text the model may see, in bytes; the marker comes on top. */
  bytes: number;
  /** The id under which the whole text is stored. */
  output?: string;
};

/**
 * A text as the model sees it: whole when it fits, else its beginning and its end with a line between them that says
 * how much is missing and where it is. Beginnings tell what was done and ends how it went, so each gets half.
 */
export function truncate(text: string, { bytes, output }: Room): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  const head = text.slice(0, endOfHead(text, Math.ceil(bytes / 2)));
  const tail = text.slice(Math.max(head.length, startOfTail(text, Math.floor(bytes / 2))));
  const missing = text.slice(head.length, text.length - tail.length);
  return `${head}${head === "" || head.endsWith("\n") ? "" : "\n"}${marker(missing, output)}\n${tail}`;
}

function marker(missing: string, output: string | undefined): string {
  const lines = missing.split("\n").length - 1;
  const size = `${Buffer.byteLength(missing)} bytes${lines > 1 ? ` (${lines} lines)` : ""}`;
  const where = output === undefined ? "" : `; all of it: RecallContext {"output":"${output}"}`;
  return `[${size} left out here${where}]`;
}

/** A cut at a line end may give up this share of the room; in longer lines it falls between two characters. */
const givenUp = 1 / 4;

function endOfHead(text: string, bytes: number): number {
  const { read } = new TextEncoder().encodeInto(text.slice(0, bytes), new Uint8Array(bytes));
  const end = cutBefore(text, read);
  const lineEnd = text.lastIndexOf("\n", end - 1) + 1;
  return end > 0 && lineEnd >= end * (1 - givenUp) ? lineEnd : end;
}

function startOfTail(text: string, bytes: number): number {
  const end = Buffer.from(bytes === 0 ? "" : text.slice(-bytes));
  let first = Math.max(0, end.length - bytes);
  while (isInsideCharacter(end[first])) first++;
  let start = text.length - end.toString("utf8", first).length;
  while (cutBefore(text, start) !== start) start++;
  const lineStart = text.indexOf("\n", start) + 1;
  return lineStart > 0 && lineStart - start <= (text.length - start) * givenUp ? lineStart : start;
}

function isInsideCharacter(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
