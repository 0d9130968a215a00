import { KodaError } from "../../errors.ts";
import { decodeUtf8 } from "../../config/utf8.ts";
import type { ListErrors } from "./listerrors.ts";

export type ListLine = { line: number; text: string };

const largestLine = 4 * 1024 * 1024;
const newline = 0x0a;

/** The lines of a file that have text. One that is too long or not UTF-8 is an error. */
export function listLines(bytes: Uint8Array, errors: ListErrors): ListLine[] {
  const lines: ListLine[] = [];
  let line = 0;
  for (let start = 0; start < bytes.length;) {
    const found = bytes.indexOf(newline, start);
    const end = found < 0 ? bytes.length : found;
    line += 1;
    const text = lineText(bytes.subarray(start, end));
    if ("problem" in text) errors.add(line, text.problem);
    else if (text.text.trim() !== "") lines.push({ line, text: text.text });
    start = end + 1;
  }
  return lines;
}

function lineText(bytes: Uint8Array): { text: string } | { problem: string } {
  if (bytes.length > largestLine)
    return { problem: `the line has ${Math.round(bytes.length / 1024 / 1024)} MiB: expected at most 4 MiB` };
  const text = decodeUtf8(bytes);
  return text === undefined ? { problem: "the line is not UTF-8 text (iconv can convert it)" } : { text };
}

/** The error for a file without a task. */
export function nothingIn(name: string): KodaError {
  return new KodaError(
    "usage",
    `There is no task in ${name}: expected one JSON object per line, as in {"key":"a","prompt":"…"}`,
  );
}
