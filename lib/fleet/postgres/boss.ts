import { fromBunSql, PgBoss } from "pg-boss";
import { visibleLine } from "../../visible.ts";
import { deleteOldQueues } from "./batchqueues.ts";
import type { Connections } from "./connections.ts";
import type { FleetDatabase, Rows, SqlValue } from "../store/database.ts";
import { rowsOf } from "./postgres.ts";
import { isOutage } from "./postgreserror.ts";

const schema = "koda_boss";

const day = 24 * 60 * 60;

/** A worker that died has its tasks back in the queue this long after its lease, and the time of one pass. */
const superviseSeconds = 5;

const atOnce = { graceful: false, close: false };

export type BossOptions = {
  /** pg-boss uses these for itself: in a transaction it would wait for a connection that the transaction has. */
  connections: Connections;
  /** Looks for the tasks of dead workers, and cleans up. */
  supervises: boolean;
  note: (text: string) => void;
};

/** pg-boss in this process: its start, its complaints and its end. */
export class Boss implements AsyncDisposable {
  readonly #database: FleetDatabase;
  readonly #options: BossOptions;
  #started: Promise<PgBoss> | undefined;
  #noted = "";
  #isClosed = false;

  constructor(database: FleetDatabase, options: BossOptions) {
    this.#database = database;
    this.#options = options;
  }

  /** Started when the first job is queued or taken: whoever only looks has no need of it. */
  async started(): Promise<PgBoss> {
    this.#started ??= this.#start();
    try {
      return await this.#started;
    } catch (error) {
      this.#started = undefined;
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const started = this.#started;
    // Statements under way fail, rather than be waited for.
    await this.#options.connections[Symbol.asyncDispose]();
    const boss = await started?.catch(() => undefined);
    await boss?.stop(atOnce);
  }

  async #start(): Promise<PgBoss> {
    const { connections, supervises } = this.#options;
    const hasSchema = await rowsOf(connections.run).all("SELECT 1 FROM pg_namespace WHERE nspname = $1", [schema]);
    const boss = new PgBoss({
      db: fromBunSql({ unsafe: connections.run, reserve: async () => bunReserved(await connections.reserve()) }),
      schema,
      // The owner of one that is there need not have the right to create schemas.
      createSchema: hasSchema.length === 0,
      schedule: false,
      supervise: supervises,
      superviseIntervalSeconds: superviseSeconds,
      monitorIntervalSeconds: superviseSeconds,
      maintenanceIntervalSeconds: 10 * 60,
      // Jobs that wait for others are koda's own affair, and the state of the database that of its owner.
      flowIntervalSeconds: day,
      monitorVacuum: false,
    });
    boss.on("error", this.#note);
    boss.on("warning", this.#note);
    try {
      await boss.start();
    } catch (error) {
      // Some of its timers may run already.
      await boss.stop(atOnce).catch(() => {});
      throw error;
    }
    // Not awaited: a transaction may be waiting for this start.
    if (supervises) deleteOldQueues(this.#database, (name) => boss.deleteQueue(name)).catch(this.#note);
    return boss;
  }

  /** Once, until something else is said. An outage is noted where a statement of koda's waits for its end. */
  readonly #note = (problem: { message: string }): void => {
    if (this.#isClosed || isOutage(problem) || problem.message === this.#noted) return;
    this.#noted = problem.message;
    this.#options.note(`The queue of batches: ${visibleLine(problem.message)}`);
  };
}

/** Statements of pg-boss as part of a transaction of koda's. */
export function bossDatabase(rows: Rows) {
  return fromBunSql({
    unsafe: async (sql, values) => await rows.all(sql, values as readonly SqlValue[] | undefined),
    reserve: () => Promise.reject(new Error("pg-boss wanted a transaction of its own within one")),
  });
}

function bunReserved({ run, release }: Awaited<ReturnType<Connections["reserve"]>>) {
  return { unsafe: run, release };
}
