import type { ZodError } from "zod";
import type { Rows, SqlValue } from "./database.ts";

export async function first<Row>(rows: Rows, sql: string, values: readonly SqlValue[] = []): Promise<Row | undefined> {
  const [row] = await rows.all<Row>(sql, values);
  return row;
}

/** Few enough that their values fit into one statement of either database. */
const mostAtOnce = 500;

/** Prompts may be long: neither the memory nor a statement holds those of a large batch. */
const mostCharacters = 4 * 1024 * 1024;

/** Inserts any number of rows with few statements: over a network each takes its time. */
export async function insertMany(
  rows: Rows,
  into: { table: string; columns: readonly string[] },
  tuples: Iterable<readonly SqlValue[]>,
): Promise<void> {
  let some: (readonly SqlValue[])[] = [];
  let characters = 0;
  for (const tuple of tuples) {
    some.push(tuple);
    for (const value of tuple) characters += typeof value === "string" ? value.length : 0;
    if (some.length < mostAtOnce && characters < mostCharacters) continue;
    await insert(rows, into, some);
    [some, characters] = [[], 0];
  }
  if (some.length > 0) await insert(rows, into, some);
}

async function insert(
  rows: Rows,
  { table, columns }: { table: string; columns: readonly string[] },
  tuples: readonly (readonly SqlValue[])[],
): Promise<void> {
  const places = tuples.map((tuple, row) => `(${tuple.map((_, column) => `$${row * tuple.length + column + 1}`)})`);
  await rows.all(`INSERT INTO ${table} (${columns.join(", ")}) VALUES ${places.join(", ")}`, tuples.flat());
}

/** The rows that a statement finds for a list of any length, of which it is given a part at a time. */
export async function allInParts<Value, Row>(
  values: readonly Value[],
  find: (part: readonly Value[]) => Promise<Row[]>,
): Promise<Row[]> {
  const found: Row[] = [];
  for (let at = 0; at < values.length; at += mostAtOnce)
    for (const row of await find(values.slice(at, at + mostAtOnce))) found.push(row);
  return found;
}

/** `$3, $4, $5`: places for a list of values that begins with the third one. */
export function placesFrom(firstPlace: number, values: readonly unknown[]): string {
  return values.map((_, index) => `$${firstPlace + index}`).join(", ");
}

/** The first thing that is wrong with a stored value. */
export function firstIssue({ issues: [issue] }: ZodError): string {
  return [issue?.path.join("."), issue?.message].filter((part) => part !== undefined && part !== "").join(": ");
}
