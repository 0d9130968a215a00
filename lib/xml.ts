const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
  "\t": "&#9;",
  "\r": "&#13;",
  "\n": "&#10;",
};

/** For text and attributes alike, without the signs that no XML document may have, escaped or not. */
export function xmlText(text: string): string {
  return text
    .toWellFormed()
    .replace(/(?![\t\n\r])\p{Cc}|[\ufffe\uffff]/gu, "")
    .replace(/[&<>"'\t\r\n]/g, (sign) => entities[sign] ?? sign);
}
