import type { KeptStream } from "../shell/capture.ts";
import type { StoredOutput } from "./outputs.ts";

/** A line with its true number; numbers are missing where lines were not kept. */
export type NumberedLine = { number: number; text: string };
type OutputLine = NumberedLine & { stream: "stdout" | "stderr" };

/**
 * An output as numbered lines: those of stdout from 1, then those of stderr. Lines that were not kept are counted, so a
 * number means the same line as in the counts that the model was given.
 */
export function linesOfOutput({ stdout, stderr }: Pick<StoredOutput, "stdout" | "stderr">): OutputLine[] {
  const printed = linesOfStream(stdout);
  const before = Math.max(stdout.totalLines, printed.at(-1)?.number ?? 0);
  return [
    ...printed.map((line): OutputLine => ({ ...line, stream: "stdout" })),
    ...linesOfStream(stderr).map(({ number, text }): OutputLine => ({
      number: before + number,
      text,
      stream: "stderr",
    })),
  ];
}

function linesOfStream({ head, tail, totalBytes, totalLines }: KeptStream): NumberedLine[] {
  const missing = totalBytes - head.length - tail.length;
  if (missing <= 0) return numbered(splitLines(decode(head, tail)), 1);

  const before = numbered(splitLines(decode(head)), 1);
  const after = splitLines(decode(tail));
  const lastBefore = before.at(-1)?.number ?? 0;
  // The gap may begin and end within lines: a line of the tail is counted from the end.
  const firstAfter = Math.max(lastBefore, totalLines - after.length + 1);
  const gap = { number: lastBefore, text: `[${missing} bytes were not kept]` };
  return [...before, gap, ...numbered(after, firstAfter)];
}

export function splitLines(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function numbered(lines: readonly string[], first: number): NumberedLine[] {
  return lines.map((text, index) => ({ number: first + index, text }));
}

/** Two parts that belong together are decoded as one: the cut may fall into a character. */
function decode(...parts: Uint8Array[]): string {
  return new TextDecoder().decode(parts.length === 1 ? parts[0] : Buffer.concat(parts));
}
