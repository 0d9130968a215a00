/** A table as the formatter writes it: columns of equal width. */
export function tableOf(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = heads.map((head, at) => Math.max(3, ...[heads, ...cells].map((row) => (row[at] ?? head).length)));
  const line = (row: readonly string[]) =>
    `| ${widths.map((width, at) => (row[at] ?? "").padEnd(width)).join(" | ")} |`;
  return [line(heads), `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`, ...cells.map(line)].join("\n");
}

export function code(text: string): string {
  return `\`${text}\``;
}

export function codeBlock(language: string, lines: readonly string[]): string {
  return ["```" + language, ...lines, "```"].join("\n");
}
