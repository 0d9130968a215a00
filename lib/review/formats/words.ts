import type { Finding } from "../findings.ts";

/** The body of a finding and its suggestion, as one text. */
export function bodyOf({ title, body, suggestion = "" }: Finding): string {
  const said = body.trim() === "" ? title : body.trim();
  return suggestion.trim() === "" ? said : `${said}\n\nSuggestion:\n${suggestion.trimEnd()}`;
}

/** Without control characters but for tabs and line ends, and without halves of characters. */
export function printable(text: string): string {
  return text.toWellFormed().replace(/(?![\t\n\r])\p{Cc}/gu, "");
}
