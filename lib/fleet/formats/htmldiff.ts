import { withCommas } from "../../counted.ts";
import { visible } from "../../visible.ts";

const longestPatch = 200_000;
const shortestPatch = 4_000;

/** A page with ten thousand of them has to open in a browser. */
const allPatches = 50_000_000;

/** A patch, one of so many, with its lines in colour; the end of a long one is left out. */
export function htmlOfPatch(bytes: Uint8Array, number: number): string {
  const most = Math.min(longestPatch, Math.max(shortestPatch, Math.floor(allPatches / number)));
  const text = visible(new TextDecoder().decode(bytes.subarray(0, most)));
  const lines = text.replace(/\n$/, "").split("\n").map(htmlOfLine);
  const left = bytes.length - most;
  const note = left > 0 ? `<p>${withCommas(left)} more bytes are in the patch itself.</p>` : "";
  return `<pre class="diff">${lines.join("")}</pre>${note}`;
}

function htmlOfLine(line: string): string {
  const kind = kindOfLine(line);
  const text = Bun.escapeHTML(line);
  return kind === undefined ? `<span>${text}</span>` : `<span class="${kind}">${text}</span>`;
}

function kindOfLine(line: string): string | undefined {
  if (line.startsWith("diff ")) return "file";
  if (line.startsWith("@@")) return "hunk";
  if (line.startsWith("+") && !line.startsWith("+++ ")) return "added";
  return line.startsWith("-") && !line.startsWith("--- ") ? "removed" : undefined;
}
