/** Aligns rows in columns, by their width on a terminal; the last column is not padded. */
export function tableOf(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows)
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, Bun.stringWidth(cell));
  const padded = (cell: string, at: number) => cell + " ".repeat((widths[at] ?? 0) - Bun.stringWidth(cell));
  return rows.map((row) => `${row.map(padded).join("  ").trimEnd()}\n`).join("");
}
