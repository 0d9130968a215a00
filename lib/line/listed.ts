import { visible, visibleLine } from "../visible.ts";

type Entry = Readonly<Record<string, unknown>>;

/** The entries of a list that a submission has replied with. */
function entriesOf(result: unknown, list: string): Entry[] {
  const entries = (result as Record<string, unknown> | undefined)?.[list];
  return Array.isArray(entries) ? (entries as Entry[]) : [];
}

export function entryNames(result: unknown, list: string): string[] {
  return entriesOf(result, list).map(({ name }) => String(name));
}

/** A list for people: each entry with its other fields, and the errors of definitions. */
export function describeList(result: unknown, list: string, fields: readonly string[]): string {
  const rows = entriesOf(result, list).map(
    (entry) =>
      [
        String(entry.name),
        fields.flatMap((field) => (entry[field] === undefined ? [] : firstSentence(String(entry[field])))),
      ] as const,
  );
  const { errors = [] } = (result ?? {}) as { errors?: readonly string[] };
  const lines = columned(rows.map(([name, facts]) => [name, facts.join(" · ")]));
  const faults = errors.map((message) => `! ${visibleLine(message)}`);
  return [...(lines.length === 0 ? [`No ${list} here`] : lines), ...faults].join("\n");
}

/** Descriptions are for models, and long. */
function firstSentence(text: string): string {
  return /^.*?[.:!?](?=\s)/s.exec(text)?.[0].replace(/:$/, "") ?? text.trim();
}

/** Two columns. */
export function columned(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(0, ...rows.map(([name]) => name.length));
  return rows.map(([name, about]) => `  ${visibleLine(`${name.padEnd(width)}  ${about}`).trimEnd()}`);
}

/** Text from outside, set in. */
export function indented(text: string): string[] {
  return visible(text)
    .trimEnd()
    .split("\n")
    .map((line) => `    ${line}`);
}
