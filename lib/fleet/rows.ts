import type { Rows, SqlValue } from "./database.ts";

export async function first<Row>(rows: Rows, sql: string, values: readonly SqlValue[] = []): Promise<Row | undefined> {
  const [row] = await rows.all<Row>(sql, values);
  return row;
}

/** Few enough that their values fit into one statement of either database. */
const mostAtOnce = 500;

/** Inserts any number of rows with few statements: over a network each takes its time. */
export async function insertMany(
  rows: Rows,
  into: { table: string; columns: readonly string[] },
  tuples: readonly (readonly SqlValue[])[],
): Promise<void> {
  for (let at = 0; at < tuples.length; at += mostAtOnce) {
    const some = tuples.slice(at, at + mostAtOnce);
    const places = some.map((tuple, row) => `(${tuple.map((_, column) => `$${row * tuple.length + column + 1}`)})`);
    const sql = `INSERT INTO ${into.table} (${into.columns.join(", ")}) VALUES ${places.join(", ")}`;
    await rows.all(sql, some.flat());
  }
}

/** `$3, $4, $5`: places for a list of values that begins with the third one. */
export function placesFrom(firstPlace: number, values: readonly unknown[]): string {
  return values.map((_, index) => `$${firstPlace + index}`).join(", ");
}
