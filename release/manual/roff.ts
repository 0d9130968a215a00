/** Text as the source of a manual page, in the man macros that groff and mandoc both know. */

/** Terms, each already set as a line of roff, and what they mean. */
export type Entry = { readonly terms: readonly string[]; readonly about: string };

/** The head of a page; `date` as in 2026-11-20. Neither hyphens nor wide gaps: most of it is flags and paths. */
export function title(name: string, section: number, { date, version }: Stamp): string {
  return `.TH ${name.toUpperCase()} ${section} ${date} "koda ${version}" "koda manual"\n.nh\n.ad l`;
}

export type Stamp = { readonly date: string; readonly version: string };

/** A section, or nothing when it has no content. */
export function heading(name: string, ...content: readonly string[]): string {
  return titled(".SH", name.toUpperCase(), content);
}

export function subheading(name: string, ...content: readonly string[]): string {
  return titled(".SS", name, content);
}

function titled(macro: string, name: string, content: readonly string[]): string {
  const lines = content.filter((part) => part !== "");
  return lines.length === 0 ? "" : [`${macro} "${plainText(name)}"`, ...lines].join("\n");
}

/** Prose in which flags and Markdown's code are bold; each sentence is a line, as roff wants it. */
export function prose(text: string): string {
  return text
    .split(/(?<=[.:;]) (?=\S)/)
    .map((sentence) => textLine(inline(sentence)))
    .join("\n");
}

export function paragraphs(...texts: readonly string[]): string {
  return texts
    .filter((text) => text !== "")
    .map(prose)
    .join("\n.PP\n");
}

/** A list with a hanging indent; each term is a line. */
export function list(entries: readonly Entry[]): string {
  return entries.map(({ terms, about }) => `.TP\n${terms.join("\n.TQ\n")}\n${prose(about)}`).join("\n");
}

/** Lines of a shell, each after a sentence about it. */
export function shellExamples(examples: readonly { readonly line: string; readonly about: string }[]): string {
  return examples
    .map(({ line, about }) => `.PP\n${prose(`${about}:`)}\n.PP\n.nf\n.RS 4\n${textLine(literal(line))}\n.RE\n.fi`)
    .join("\n")
    .replace(/^\.PP\n/, "");
}

export function bold(text: string): string {
  return `\\fB${literal(text)}\\fR`;
}

export function italic(text: string): string {
  return `\\fI${literal(text)}\\fR`;
}

/** `koda-exec(1)` */
export function reference(page: string, section: number): string {
  return `${bold(page)}(${section})`;
}

function inline(markdown: string): string {
  const parts = markdown.replace(/\[([^\]]+)\]\([^)]+\)/g, "$1").split(/(`[^`]+`|(?<![\w-])--?[a-zA-Z][\w-]*)/);
  return parts.map((part, at) => (at % 2 === 0 ? plainText(part) : bold(part.replaceAll("`", "")))).join("");
}

/** Text that is meant character by character: no hyphen, quote or tilde becomes a typographic one. */
export function literal(text: string): string {
  return plainText(text).replace(/[-'`^~]/g, (found) => asciiNames[found] ?? found);
}

const asciiNames: Readonly<Record<string, string>> = {
  "-": "\\-",
  "'": "\\(aq",
  "`": "\\(ga",
  "^": "\\(ha",
  "~": "\\(ti",
};

function plainText(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll('"', "\\(dq")
    .replaceAll("…", "...")
    .replace(
      /[^\p{ASCII}]/gu,
      (found) => `\\[u${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`,
    );
}

/** A line that begins with a dot or a quote would be a request to roff. */
export function textLine(line: string): string {
  return /^[.']/.test(line) ? `\\&${line}` : line;
}
