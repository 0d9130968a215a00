import { SerialQueue } from "../../async/serialqueue.ts";
import type { Database } from "../../session/database.ts";
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
        this.#rollBack();
        throw error;
      }
    });
  }

  #rollBack(): void {
    try {
      this.#db.script("ROLLBACK");
    } catch {
      // SQLite itself ends a transaction after some errors, such as a full disk: the first one is the one to tell.
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#turns.run(async () => this.#db.close());
  }
}

function selectAll<Row>(db: Database, sql: string, values: readonly SqlValue[] = []): Row[] {
  return db.all<Row>(sql.replaceAll(/\$(\d+)/g, "?$1"), [...values]);
}
