import { SerialQueue } from "../../async/serialqueue.ts";
import { type Database, isForLackOfSpace } from "../../session/database.ts";
import type { FleetDatabase, Rows, SqlValue } from "../store/database.ts";

/** The fleet's tables in koda's own database. One connection: its transactions follow each other. */
export class SqliteFleet implements FleetDatabase {
  readonly #db: Database;
  readonly #turns = new SerialQueue();
  readonly #rows: Rows;

  constructor(db: Database) {
    this.#db = db;
    // Not async: a transaction must not wait for anything but its own statements.
    this.#rows = { all: (sql, values) => Promise.try(() => selectAll(db, sql, values)) };
  }

  async all<Row>(sql: string, values?: readonly SqlValue[]): Promise<Row[]> {
    return await this.#turns.run(() => this.#rows.all<Row>(sql, values));
  }

  async write<T>(steps: (rows: Rows) => Promise<T>): Promise<T> {
    return await this.#turns.run(async () => {
      this.#db.script("BEGIN IMMEDIATE");
      try {
        const result = await steps(this.#rows);
        this.#db.script("COMMIT");
        return result;
      } catch (error) {
        this.#rollBack(error);
        throw error;
      }
    });
  }

  /** SQLite itself ends a transaction for which there is no space; then there is none to roll back. */
  #rollBack(failure: unknown): void {
    try {
      this.#db.script("ROLLBACK");
    } catch (error) {
      if (!isForLackOfSpace(failure)) throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#turns.run(async () => this.#db.close());
  }
}

function selectAll<Row>(db: Database, sql: string, values: readonly SqlValue[] = []): Row[] {
  return db.all<Row>(sql.replaceAll(/\$(\d+)/g, "?$1"), [...values]);
}
