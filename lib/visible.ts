/**
 * Text from outside (of a model, a command, a file's name) as people may safely see it in a terminal or a log. The rest
 * of a control sequence is harmless without its escape character: it cannot move the cursor, rewrite earlier text or
 * set the clipboard. A sign that reorders what is shown beside it becomes its escape.
 */
export function visible(text: string): string {
  return text
    .replace(/\r\n?/g, "\n")
    .replace(/(?![\t\n])\p{Cc}/gu, "")
    .replace(reordering, escaped);
}

/** The same for a message: its later lines are set in, so that none looks like another message. */
export function visibleMessage(text: string): string {
  return visible(text).replaceAll("\n", "\n  ");
}

/** The same on one line, for a name or a sentence with names: nothing in it can begin a line that looks like koda's. */
export function visibleLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, escaped).replace(reordering, escaped);
}

/** Embeddings, overrides and isolates. The marks for a direction (U+200E, U+200F) reorder nothing by themselves. */
const reordering = /[\u202a-\u202e\u2066-\u2069]/g;

const short: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function escaped(sign: string): string {
  return short[sign] ?? `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
