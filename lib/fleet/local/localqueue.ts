import { isProcessGone } from "../../session/process.ts";
import type { FleetDatabase, Rows } from "../store/database.ts";
import type { QueuedTask, Taken, TaskQueue } from "../store/queue.ts";
import { insertMany } from "../store/rows.ts";
import type { Ticket, WorkerIdentity } from "../store.ts";

type Job = {
  id: number;
  key: string;
  lease_ms: number;
  round: number;
  owner: string | null;
  pid: number | null;
  started: string | null;
  machine: string | null;
  expires: number;
};

const columns = "id, key, lease_ms, round, owner, pid, started, machine, expires";

/** The queue of the workers of one machine, in koda's own database. A worker whose process is gone is lost at once. */
export class LocalQueue implements TaskQueue {
  readonly #database: FleetDatabase;

  constructor(database: FleetDatabase) {
    this.#database = database;
  }

  async open(): Promise<void> {}

  async push(rows: Rows, batch: string, tasks: readonly QueuedTask[], leaseMs: number): Promise<void> {
    const tuples = tasks.map(({ key, group, labels, notBefore, hasBegun }) => [
      batch,
      key,
      group,
      JSON.stringify(labels),
      notBefore ?? 0,
      leaseMs,
      hasBegun === true ? 0 : 1,
      0,
      0,
    ]);
    const names = ["batch", "key", "grp", "labels", "not_before", "lease_ms", "place", "round", "expires"];
    await insertMany(rows, { table: "batch_job", columns: names }, tuples);
  }

  async take(
    rows: Rows,
    batch: string,
    worker: WorkerIdentity,
    pausedGroups: readonly string[],
  ): Promise<Taken | undefined> {
    const job = await this.#next(rows, batch, worker, pausedGroups);
    if (job === undefined) return undefined;
    const { id, key, lease_ms: leaseMs } = job;
    const round = job.round + 1;
    const { pid, started, machine } = worker;
    await rows.all(
      "UPDATE batch_job SET round = $2, owner = $3, pid = $4, started = $5, machine = $6, expires = $7 WHERE id = $1",
      [id, round, worker.id, pid, started, machine, Date.now() + leaseMs],
    );
    return { key, ticket: { job: String(id), round } };
  }

  async keep(tickets: readonly Ticket[]): Promise<ReadonlySet<string>> {
    const held = await this.#database.write(async (rows) => {
      const kept: string[] = [];
      for (const { job, round } of tickets) {
        const sql = `UPDATE batch_job SET expires = $3 + lease_ms WHERE id = $1 AND round = $2 AND owner IS NOT NULL
                     RETURNING id`;
        const rowsKept = await rows.all(sql, [Number(job), round, Date.now()]);
        if (rowsKept.length > 0) kept.push(job);
      }
      return kept;
    });
    return new Set(held);
  }

  async complete(rows: Rows, { job, round }: Ticket): Promise<boolean> {
    const sql = "DELETE FROM batch_job WHERE id = $1 AND round = $2 RETURNING id";
    return (await rows.all(sql, [Number(job), round])).length > 0;
  }

  async clear(rows: Rows, batch: string): Promise<readonly string[]> {
    const held = await rows.all<Job>(`SELECT ${columns} FROM batch_job WHERE batch = $1 AND owner IS NOT NULL`, [
      batch,
    ]);
    const lost = held.filter(isOwnerGone);
    for (const { id } of lost) await rows.all("DELETE FROM batch_job WHERE id = $1", [id]);
    const sql = "DELETE FROM batch_job WHERE batch = $1 AND owner IS NULL RETURNING key";
    return [...lost, ...(await rows.all<{ key: string }>(sql, [batch]))].map(({ key }) => key);
  }

  async close(): Promise<void> {}

  async [Symbol.asyncDispose](): Promise<void> {}

  /** Jobs that a lost worker had come first: they have waited longest. */
  async #next(
    rows: Rows,
    batch: string,
    { id, labels }: WorkerIdentity,
    pausedGroups: readonly string[],
  ): Promise<Job | undefined> {
    const now = Date.now();
    const fits = "NOT EXISTS (SELECT 1 FROM json_each(labels) WHERE value NOT IN (SELECT value FROM json_each($2)))";
    const select = `SELECT ${columns} FROM batch_job WHERE batch = $1 AND ${fits}`;
    const held = await rows.all<Job>(`${select} AND owner IS NOT NULL`, [batch, JSON.stringify(labels)]);
    // A machine that was asleep wakes with its leases over: what the worker itself holds is not lost.
    const lost = held.find((job) => job.owner !== id && (job.expires <= now || isOwnerGone(job)));
    if (lost !== undefined) return lost;
    const [job] = await rows.all<Job>(
      `${select} AND owner IS NULL AND not_before <= $3 AND grp NOT IN (SELECT value FROM json_each($4))
       ORDER BY place, id LIMIT 1`,
      [batch, JSON.stringify(labels), now, JSON.stringify(pausedGroups)],
    );
    return job;
  }
}

function isOwnerGone({ pid, started, machine }: Job): boolean {
  return pid !== null && isProcessGone({ pid, started: started ?? "", machine: machine ?? "", host: "" });
}
