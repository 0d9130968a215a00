import type { Connections, Run } from "./connections.ts";
import type { FleetDatabase, Rows, SqlValue } from "./database.ts";
import type { Outages } from "./outage.ts";

/** A transaction that has only to be committed. */
type Committing<T> = { id: string; result: T };

/** The fleet's tables in PostgreSQL. Transactions are of the level READ COMMITTED: what must not change is locked. */
export class PostgresFleet implements FleetDatabase {
  readonly #connections: Connections;
  readonly #outages: Outages;

  constructor(connections: Connections, outages: Outages) {
    this.#connections = connections;
    this.#outages = outages;
  }

  async all<Row>(sql: string, values?: readonly SqlValue[]): Promise<Row[]> {
    // Only what reads may be done twice without harm.
    if (!/^\s*SELECT\b/i.test(sql)) return await this.write((rows) => rows.all<Row>(sql, values));
    return await this.#outages.outlast(() => rowsOf(this.#connections.run).all<Row>(sql, values));
  }

  async write<T>(steps: (rows: Rows) => Promise<T>): Promise<T> {
    return await this.#outages.outlast(() => this.#transaction(steps));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connections[Symbol.asyncDispose]();
  }

  async #transaction<T>(steps: (rows: Rows) => Promise<T>): Promise<T> {
    const committing: Committing<T>[] = [];
    try {
      return await this.#attempt(steps, (commit) => committing.push(commit));
    } catch (error) {
      const [commit] = committing;
      if (commit !== undefined && (await this.#isCommitted(commit.id))) return commit.result;
      throw error;
    }
  }

  async #attempt<T>(steps: (rows: Rows) => Promise<T>, onCommit: (commit: Committing<T>) => void): Promise<T> {
    const { run, release } = await this.#connections.reserve();
    try {
      const id = await begin(run);
      const result = await unlessFailed(run, steps(rowsOf(run)));
      onCommit({ id, result });
      await commit(run);
      return result;
    } finally {
      release();
    }
  }

  /** The answer to COMMIT may be lost although it was carried out, which must not happen twice. */
  async #isCommitted(id: string): Promise<boolean> {
    for (;;) {
      const sql = "SELECT pg_xact_status($1::text::xid8) AS status";
      const [found] = await this.all<{ status: string | null }>(sql, [id]);
      if (found?.status !== "in progress") return found?.status === "committed";
      // The server has not noticed yet that the connection is gone.
      await Bun.sleep(200);
    }
  }
}

async function begin(run: Run): Promise<string> {
  const results = await run("BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_current_xact_id()::text AS id");
  const [, rows] = results as [unknown, [{ id: string }]];
  return rows[0].id;
}

/** PostgreSQL rolls back instead, without an error, when a statement has failed. */
async function commit(run: Run): Promise<void> {
  const { command } = (await run("COMMIT")) as { command: string };
  if (command !== "COMMIT") throw new Error(`A transaction ended with ${command}: an error in it was ignored`);
}

/** Rolls back when the steps have failed. */
async function unlessFailed<T>(run: Run, steps: Promise<T>): Promise<T> {
  try {
    return await steps;
  } catch (error) {
    // If this fails too, the connection is gone, and the transaction with it: the first error is the one to tell.
    await run("ROLLBACK").catch(() => {});
    throw error;
  }
}

/** Types whose values come as text, since JavaScript's numbers may not hold them; those of the fleet are small. */
const wideNumbers: readonly unknown[] = [20, 1700];

export function rowsOf(run: Run): Rows {
  return {
    async all<Row>(sql: string, values: readonly SqlValue[] = []): Promise<Row[]> {
      const found = (await run(sql, values)) as Row[] & { columns?: readonly { name: string; type: unknown }[] };
      const wide = found.columns?.filter(({ type }) => wideNumbers.includes(type)) ?? [];
      if (wide.length === 0) return [...found];
      return found.map((row) => ({ ...row, ...numbersOf(row, wide) }));
    },
  };
}

function numbersOf(row: unknown, columns: readonly { name: string }[]): Record<string, number | null> {
  const values = row as Record<string, string | null>;
  return Object.fromEntries(
    columns.map(({ name }) => {
      const value = values[name] ?? null;
      return [name, value === null ? null : Number(value)];
    }),
  );
}
