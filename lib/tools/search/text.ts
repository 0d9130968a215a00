import { readFileSync, readSync } from "node:fs";

/** Reused for every file; only a line that does not fit makes it grow. */
let buffer = Buffer.allocUnsafe(1 << 20);

/** A file with a longer line is not text. */
const maxLineBytes = 1 << 28;

export class NotText extends Error {}

/**
 * An open file's text in pieces of whole lines, so that a file of any size takes little memory: UTF-8, or UTF-16 that
 * begins with its mark. Throws `NoText` at a NUL byte, which may come late. One file is read at a time.
 */
export function* piecesOf(file: number): Generator<string, void> {
  const utf8 = new TextDecoder();
  for (let kept = 0, isFirst = true; ; isFirst = false) {
    const read = readSync(file, buffer, kept, buffer.length - kept, null);
    const filled = buffer.subarray(0, kept + read);
    const wide = isFirst ? wideEncodingOf(filled) : undefined;
    if (wide !== undefined) return yield textOf(Buffer.concat([filled, readFileSync(file)]), wide);
    if (filled.includes(0, kept)) throw new NotText();

    const whole = read === 0 ? kept : filled.lastIndexOf("\n") + 1;
    if (whole > 0) yield utf8.decode(filled.subarray(0, whole));
    if (read === 0) return;
    buffer.copyWithin(0, whole, filled.length);
    kept = filled.length - whole;
    if (kept === buffer.length) grow();
  }
}

function wideEncodingOf(bytes: Uint8Array): "utf-16le" | "utf-16be" | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  return bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : undefined;
}

function textOf(bytes: Uint8Array, encoding: "utf-16le" | "utf-16be"): string {
  const text = new TextDecoder(encoding).decode(bytes);
  if (text.includes("\0")) throw new NotText();
  return text;
}

function grow(): void {
  if (buffer.length >= maxLineBytes) throw new NotText();
  const larger = Buffer.allocUnsafe(buffer.length * 4);
  buffer.copy(larger);
  buffer = larger;
}
