import type { FleetDatabase, Rows, SqlValue } from "../../lib/fleet/store/database.ts";

/** Called when a store is about to send this statement; `COMMIT` is the end of a transaction. */
export type Moment = (sql: string) => Promise<void> | undefined;

/** A database in whose transactions others may do something at a moment that a test chooses. */
export class DatabaseOfMoments implements FleetDatabase {
  at: Moment = () => undefined;
  readonly #inner: FleetDatabase;

  constructor(inner: FleetDatabase) {
    this.#inner = inner;
  }

  async all<Row>(sql: string, values?: readonly SqlValue[]): Promise<Row[]> {
    await this.at(sql);
    return await this.#inner.all<Row>(sql, values);
  }

  async write<T>(steps: (rows: Rows) => Promise<T>): Promise<T> {
    return await this.#inner.write(async (rows) => {
      const all = async <Row>(sql: string, values?: readonly SqlValue[]) => {
        await this.at(sql);
        return await rows.all<Row>(sql, values);
      };
      const result = await steps({ all });
      await this.at("COMMIT");
      return result;
    });
  }

  /** Runs `other` once, when the store comes to a statement that matches. */
  once(pattern: RegExp, other: () => Promise<unknown>): void {
    this.at = (sql) => {
      if (!pattern.test(sql)) return undefined;
      this.at = () => undefined;
      return other().then(() => undefined);
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#inner[Symbol.asyncDispose]();
  }
}
