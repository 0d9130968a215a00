export type SqlValue = string | number | null | Uint8Array;

/**
 * Statements in the SQL that SQLite and PostgreSQL have in common, with values as $1, $2, … Numbers come back as
 * numbers, bytes as Uint8Array.
 */
export interface Rows {
  all<Row>(sql: string, values?: readonly SqlValue[]): Promise<Row[]>;
}

/** The database with the tables of the fleet. A statement outside of `write` is a transaction of its own. */
export interface FleetDatabase extends Rows, AsyncDisposable {
  /** Does all of the steps or none. They may be repeated when others were in the way. */
  write<T>(steps: (rows: Rows) => Promise<T>): Promise<T>;
}
