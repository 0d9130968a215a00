/** How things look on stderr: colours, numbers, and text that must not steer the terminal. */
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

/** `auto` gives colours to a terminal that shows them, unless the environment says otherwise. */
export function wantsColor(
  choice: "auto" | "always" | "never",
  isTerminal: boolean,
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  if (choice !== "auto") return choice === "always";
  if (env["NO_COLOR"]) return false;
  if (env["FORCE_COLOR"]) return env["FORCE_COLOR"] !== "0";
  return isTerminal && env["TERM"] !== "dumb";
}

/**
 * Text of a model or a command as a terminal may show it. What is left of a control sequence without its escape
 * character is plain text: it cannot move the cursor, rewrite what was printed, or set the clipboard.
 */
export function harmless(text: string): string {
  return text.replace(/\r\n?/g, "\n").replace(/(?![\t\n])\p{Cc}/gu, "");
}

/** Colours and cursor movements: sequences that have no text in them, so taking them out hides nothing. */
const controlSequences = new RegExp(`${"\u001b"}\\[[0-?]*[ -/]*[@-~]`, "g");

/** Signs that make a terminal show a line in another order than it is written in. */
const readingOrder = /[\u202a-\u202e\u2066-\u2069]/g;

/**
 * Harmless, and without the remains of colours. A sequence that could carry text (a title, a link) leaves its text:
 * what a command says must not be able to hide a part of itself.
 */
export function plain(text: string): string {
  return harmless(text.replace(controlSequences, "").replace(readingOrder, ""));
}

/** A name of any length on one line: a line feed in it would begin a line that koda never wrote. */
export function named(text: string): string {
  return plain(text).replace(/\s+/g, " ");
}

/** On one line, in at most `columns` columns. */
export function oneLine(text: string, columns: number): string {
  // A long input is cut before it is measured: only its beginning can be shown.
  const start = text.trim().slice(0, 4 * columns);
  return Bun.sliceAnsi(
    plain(start)
      .replace(/\s*\n\s*/g, " ⏎ ")
      .replace(/\s+/g, " "),
    0,
    Math.max(columns, 10),
    "…",
  );
}

/** `0.4 s`, `12 s`, `3 min 20 s`. */
export function seconds(ms: number): string {
  const whole = Math.round(ms / 1_000);
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 9_950) return `${(ms / 1_000).toFixed(1)} s`;
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

/** `$0.0042`, `$0.42`, `$1,234.50`. */
export function dollars(usd: number): string {
  if (usd > 0 && usd < 0.0001) return "under $0.0001";
  const maximumFractionDigits = usd < 0.1 ? 4 : 2;
  return `$${usd.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits })}`;
}
