import { isRecord, type JsonRecord } from "../config/json.ts";
import { messageOf } from "../errors.ts";

/** A Markdown file in two parts: its YAML fields, none where it has no front matter, and the rest. */
type FrontMatter = { readonly fields: JsonRecord; readonly body: string };

/** The problem completes `The skill "…" is not loaded: `. */
export function parseFrontMatter(text: string): FrontMatter | { problem: string } {
  const [opening] = /^---[ \t]*\r?\n/.exec(text) ?? [];
  if (opening === undefined) return { fields: {}, body: text };
  const rest = text.slice(opening.length);
  const end = /^---[ \t]*$/m.exec(rest.replaceAll("\r", " "));
  if (end === null) return { problem: 'its front matter does not end, expected a line "---"' };

  const yaml = rest.slice(0, end.index);
  const { value, problem } = parseYaml(yaml);
  if (problem !== undefined) return { problem: `line ${badLine(yaml) + 1}: ${problem}` };
  // Without any field it is null.
  if (value !== null && !isRecord(value)) return { problem: 'its front matter has no fields, expected "name: value"' };
  return { fields: value ?? {}, body: rest.slice(end.index + end[0].length).replace(/^\r?\n/, "") };
}

/**
 * By Bun's own parser: it takes no time to load, and refuses aliases that would expand to gigabytes and depths that
 * would overflow the stack.
 */
function parseYaml(yaml: string): { value?: unknown; problem?: string } {
  try {
    return { value: Bun.YAML.parse(yaml) };
  } catch (error) {
    const reason = messageOf(error).replace(/^YAML Parse error: /, "");
    const hint = reason === "Unexpected token" ? ': a value with ": " in it needs quotes' : "";
    return { problem: `invalid YAML (${reason})${hint}` };
  }
}

/** Bun does not say where: the first line with which the text is no YAML any more. */
function badLine(yaml: string): number {
  const lines = yaml.split("\n", mostLines);
  const bad = lines.findIndex((_, index) => parseYaml(lines.slice(0, index + 1).join("\n")).problem !== undefined);
  return bad === -1 ? lines.length : bad + 1;
}

/** Beyond this the search would take its time. */
const mostLines = 100;
