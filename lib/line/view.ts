import type { TypedLine } from "./console.ts";
import { feed } from "./editor.ts";

/** A typed line on one row of the terminal: all of it that fits around the cursor, and the part behind the cursor. */
export function viewOf({ prompt, text, cursor }: TypedLine, columns: number): { text: string; after: string } {
  const shown = printable(text);
  const [before, after] = [shown.slice(0, cursor), shown.slice(cursor)];
  const room = Math.max(columns - 1 - Bun.stringWidth(prompt), 8);
  const [widthBefore, width] = [Bun.stringWidth(before), Bun.stringWidth(shown)];
  if (width <= room) return { text: `${prompt}${shown}`, after };
  const start = Math.max(0, Math.min(widthBefore - Math.floor((2 * room) / 3), width - room));
  const head = start === 0 ? before : `…${Bun.sliceAnsi(before, start + 1)}`;
  const left = room - Bun.stringWidth(head);
  const tail = Bun.stringWidth(after) <= left ? after : `${Bun.sliceAnsi(after, 0, Math.max(left - 1, 0))}…`;
  return { text: `${prompt}${head}${tail}`, after: tail };
}

/** One column for each control character, so that the cursor keeps its place. */
function printable(text: string): string {
  // eslint-disable-next-line no-control-regex -- that is what is replaced
  return text.replaceAll(feed, "⏎").replace(/[\u0000-\u001f\u007f-\u009f]/g, " ");
}
