import { cutBefore } from "../session/graphemes.ts";
import type { OutputStore } from "../session/outputs.ts";
import { createCapture } from "../shell/capture.ts";

/** A text up to this size is shown whole. */
const shownCharacters = 16_000;
const linesRecalled = 200;

type TextExcerpt = {
  text: string;
  /** Under which all of it is stored, when that is not all. */
  output?: string;
};

type Store = { outputs: OutputStore; call: string };

/** The beginning of a text, in whole lines where there are any, and how to see the rest. */
export function excerptOf(text: string, { outputs, call }: Store): TextExcerpt {
  if (text.length <= shownCharacters) return { text };
  const capture = createCapture();
  capture.add(Buffer.from(text));
  const stdout = capture.kept();
  const output = outputs.reserve();
  outputs.save({ id: output, call, stdout, stderr: createCapture().kept() });

  const { shown, lines } = beginningOf(text);
  const range = `${lines + 1}-${lines + linesRecalled}`;
  const hint = `[Cut: ${lines} of ${stdout.totalLines} lines. The next: RecallContext {"output":"${output}","range":"${range}"}]`;
  return { text: `${shown}\n${hint}`, output };
}

/** A first line that is too long by itself is shown in part, and counts as not shown. */
function beginningOf(text: string): { shown: string; lines: number } {
  const end = text.lastIndexOf("\n", shownCharacters);
  if (end <= 0) return { shown: `${text.slice(0, cutBefore(text, shownCharacters))}…`, lines: 0 };
  const shown = text.slice(0, end);
  return { shown, lines: shown.split("\n").length };
}
