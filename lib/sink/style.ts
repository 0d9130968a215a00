import type { Env } from "../config/paths.ts";
import { withCommas } from "../counted.ts";
import { visible } from "../visible.ts";

/** Functions that colour text; without colours they return it unchanged. */
export type Paint = { readonly [C in keyof typeof codes]: (text: string) => string };

const codes = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const;

export function openPaint(color: boolean): Paint {
  const painter = (code: keyof typeof codes) => (text: string) => {
    const [on, off] = codes[code];
    return color && text !== "" ? `\u001b[${on}m${text}\u001b[${off}m` : text;
  };
  return {
    bold: painter("bold"),
    dim: painter("dim"),
    red: painter("red"),
    green: painter("green"),
    yellow: painter("yellow"),
    cyan: painter("cyan"),
  };
}

/** `auto` means colours on a terminal that supports them, unless the environment says otherwise. */
export function wantsColor(choice: "auto" | "always" | "never", isTerminal: boolean, env: Env): boolean {
  if (choice !== "auto") return choice === "always";
  if (env["NO_COLOR"]) return false;
  if (env["FORCE_COLOR"]) return env["FORCE_COLOR"] !== "0";
  return isTerminal && env["TERM"] !== "dumb";
}

/** Colours and cursor movements: they contain no text, so removing them hides nothing. */
const controlSequences = new RegExp(`${"\u001b"}\\[[0-?]*[ -/]*[@-~]`, "g");

/**
 * Removes control characters and colours. The text of a sequence that has one (a title, a link) stays: a command must
 * not be able to hide a part of itself.
 */
export function plain(text: string): string {
  return visible(text.replace(controlSequences, ""));
}

/** A name as part of a line: a line feed in it must not begin a new one. */
export function inline(text: string): string {
  return plain(text).replace(/\s+/g, " ");
}

/** On one line of at most `columns` columns. */
export function oneLine(text: string, columns: number): string {
  // Cut before measuring: only the beginning of a long text can be shown.
  const line = plain(text.trim().slice(0, 4 * columns))
    .replace(/\s*\n\s*/g, " ⏎ ")
    .replace(/\s+/g, " ");
  const most = Math.max(columns, 10);
  const cut = Bun.sliceAnsi(line, 0, most, "…");
  // Bun keeps a wide character that the end cuts in half.
  return Bun.stringWidth(cut) > most ? Bun.sliceAnsi(line, 0, most - 1, "…") : cut;
}

/** `$0.0042`, `$0.42`, `$1,234.50`. */
export function dollars(usd: number): string {
  if (usd > 0 && usd < 0.0001) return "under $0.0001";
  const [whole, fraction = ""] = usd.toFixed(usd < 0.1 ? 4 : 2).split(".");
  return `$${withCommas(Number(whole))}.${fraction.replace(/(?<=..)0+$/, "")}`;
}
