import type { Connections, Run } from "./connections.ts";
import type { FleetDatabase, Rows, SqlValue } from "../store/database.ts";
import type { Outages } from "./outage.ts";

/** A transaction that has only to be committed. */
type Committing<T> = { id: string; result: T };

/** The fleet's tables in PostgreSQL. Transactions are of the level READ COMMITTED: what must not change is locked. */
export class PostgresFleet implements FleetDatabase {
  readonly #connections: Connections;
  readonly #outages: Outages;
  /** Those that no transaction uses now. */
  readonly #marks: string[] = [];

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
    const mark = this.#marks.pop() ?? crypto.randomUUID();
    try {
      return await this.#outages.outlast(() => this.#transaction(mark, steps));
    } finally {
      this.#marks.push(mark);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connections[Symbol.asyncDispose]();
  }

  async #transaction<T>(mark: string, steps: (rows: Rows) => Promise<T>): Promise<T> {
    const committing: Committing<T>[] = [];
    try {
      return await this.#attempt(mark, steps, (commit) => committing.push(commit));
    } catch (error) {
      const [commit] = committing;
      if (commit !== undefined && (await this.#isCommitted(mark, commit.id))) return commit.result;
      throw error;
    }
  }

  async #attempt<T>(
    mark: string,
    steps: (rows: Rows) => Promise<T>,
    onCommit: (commit: Committing<T>) => void,
  ): Promise<T> {
    const { run, release } = await this.#connections.reserve();
    try {
      await run("BEGIN ISOLATION LEVEL READ COMMITTED");
      const id = crypto.randomUUID();
      const result = await unlessFailed(run, markAfter(rowsOf(run), { mark, id, steps }));
      onCommit({ id, result });
      await commit(run);
      return result;
    } finally {
      release();
    }
  }

  /**
   * The answer to COMMIT may be lost although it was carried out, which must not happen twice. Waits until the server
   * has given up a transaction that it has heard nothing more of. A transaction's number would not do: after a crash it
   * may be that of another one.
   */
  async #isCommitted(mark: string, id: string): Promise<boolean> {
    const sql = `INSERT INTO batch_commit (mark, id, at) VALUES ($1, '', $2)
                 ON CONFLICT (mark) DO UPDATE SET at = $2 RETURNING id`;
    const look = () => rowsOf(this.#connections.run).all<{ id: string }>(sql, [mark, Date.now()]);
    const [found] = await this.#outages.outlast(look);
    return found?.id === id;
  }
}

type Marking<T> = { mark: string; id: string; steps: (rows: Rows) => Promise<T> };

/** Leaves the transaction's own name with what it has written, if it has written anything. */
async function markAfter<T>(rows: Rows, { mark, id, steps }: Marking<T>): Promise<T> {
  const result = await steps(rows);
  await rows.all(
    `INSERT INTO batch_commit (mark, id, at) SELECT $1, $2, $3 WHERE pg_current_xact_id_if_assigned() IS NOT NULL
     ON CONFLICT (mark) DO UPDATE SET id = $2, at = $3`,
    [mark, id, Date.now()],
  );
  return result;
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
