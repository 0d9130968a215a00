import { extendGrant, lockAccount } from "./account.ts";
import { type BatchRow, findBatch, liveBatches, readBatch, readBatches } from "./batchrow.ts";
import { claimFrom } from "./claiming.ts";
import type { FleetDatabase, Rows } from "./database.ts";
import { endAttempt, pausedGroups } from "./ending.ts";
import { beat, noteWorker } from "./heartbeat.ts";
import { type BatchOverview, readOverview } from "./overview.ts";
import type { TaskQueue } from "./queue.ts";
import { cancelBatch, retryTasks, type Which } from "./requeue.ts";
import { readResults } from "./results.ts";
import { first } from "./rows.ts";
import { closeWhenOver, type Settling } from "./settling.ts";
import type {
  AttemptEnd,
  BatchChange,
  BatchSettings,
  Checkpoint,
  TaskClaim,
  FleetStore,
  Idle,
  Settled,
  Spending,
  Standing,
  TaskResult,
  WorkerIdentity,
} from "../store.ts";
import { submitBatch } from "./submission.ts";
import type { FleetTask } from "../task.ts";

/** The store of batches in a database, with a queue beside it. */
export class SqlStore implements FleetStore {
  readonly #database: FleetDatabase;
  readonly #queue: TaskQueue;

  constructor(database: FleetDatabase, queue: TaskQueue) {
    this.#database = database;
    this.#queue = queue;
  }

  async submit(id: string, settings: BatchSettings, tasks: readonly FleetTask[]): Promise<void> {
    await this.#database.write((rows) => submitBatch({ rows, queue: this.#queue }, { id, settings, tasks }));
  }

  async claim(worker: WorkerIdentity, batch?: string): Promise<TaskClaim | Idle> {
    const database = this.#database;
    const batches = await this.#liveOnes(batch);
    if (batches.length === 0) return { isOver: true };
    const paused = (await pausedGroups(database)).map(({ group }) => group);
    const claiming = { database, queue: this.#queue, worker, paused };
    for (const each of batches) {
      const claim = await claimFrom(claiming, each);
      if (claim !== undefined) return claim;
      await closeWhenOver(database, this.#queue, each.id);
    }
    return { isOver: (await this.#liveOnes(batch)).length === 0 };
  }

  async #liveOnes(batch: string | undefined): Promise<BatchRow[]> {
    const live = await liveBatches(this.#database);
    if (batch === undefined || live.some(({ id }) => id === batch))
      return live.filter(({ id }) => id === (batch ?? id));
    // Throws when there is none.
    await readBatch(this.#database, batch);
    return [];
  }

  async keep(
    worker: WorkerIdentity,
    running: ReadonlyMap<TaskClaim, Spending>,
  ): Promise<ReadonlyMap<TaskClaim, Standing>> {
    return await beat({ database: this.#database, queue: this.#queue }, worker, running);
  }

  async grantMore(claim: TaskClaim, spent: Spending): Promise<Partial<Spending> | undefined> {
    return await this.#database.write(async (rows) => {
      await lockAccount(rows, claim.batch);
      return await extendGrant(rows, await readBatch(rows, claim.batch), claim, spent);
    });
  }

  async checkpoint(claim: TaskClaim, { version, from, items, patch }: Checkpoint): Promise<boolean> {
    const { batch, task, attempt } = claim;
    return await this.#database.write(async (rows) => {
      const open = await first(
        rows,
        "SELECT 1 AS found FROM batch_attempt WHERE batch = $1 AND key = $2 AND number = $3 AND kind = 'open'",
        [batch, task.key, attempt],
      );
      if (open === undefined) return false;
      const sql = "SELECT CAST(count(*) AS INTEGER) AS n FROM batch_checkpoint WHERE batch = $1 AND key = $2";
      const part = (await first<{ n: number }>(rows, sql, [batch, task.key]))?.n ?? 0;
      await rows.all(
        `INSERT INTO batch_checkpoint (batch, key, attempt, part, version, place, items, patch)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
        [batch, task.key, attempt, part, version, from, items, patch],
      );
      // Each patch is against the same state of the tree, so the newest one is enough.
      const older = "UPDATE batch_checkpoint SET patch = $4 WHERE batch = $1 AND key = $2 AND part < $3";
      await rows.all(older, [batch, task.key, part, new Uint8Array()]);
      return true;
    });
  }

  async checkpoints({ batch, task }: TaskClaim): Promise<readonly Checkpoint[]> {
    const stored = await this.#database.all<Omit<Checkpoint, "from"> & { place: number }>(
      "SELECT version, place, items, patch FROM batch_checkpoint WHERE batch = $1 AND key = $2 ORDER BY part",
      [batch, task.key],
    );
    return stored.map(({ place, ...checkpoint }) => ({ ...checkpoint, from: place }));
  }

  async end(claim: TaskClaim, end: AttemptEnd): Promise<Settled> {
    return await endAttempt({ database: this.#database, queue: this.#queue }, claim, end);
  }

  async leave(worker: WorkerIdentity, why: string): Promise<void> {
    await noteWorker(this.#database, worker, why);
  }

  async batches(): Promise<readonly BatchOverview[]> {
    const batches = await readBatches(this.#database);
    return await Promise.all(batches.map((batch) => readOverview(this.#database, batch)));
  }

  async find(idOrPrefix: string): Promise<string> {
    return await findBatch(this.#database, idOrPrefix);
  }

  async overview(batch: string): Promise<BatchOverview> {
    return await readOverview(this.#database, await readBatch(this.#database, batch));
  }

  results(batch: string): AsyncIterable<TaskResult> {
    return readResults(this.#database, batch);
  }

  async patch(batch: string, key: string): Promise<Uint8Array | undefined> {
    const sql = "SELECT patch FROM batch_task WHERE batch = $1 AND key = $2";
    return (await first<{ patch: Uint8Array | null }>(this.#database, sql, [batch, key]))?.patch ?? undefined;
  }

  async cancel(batch: string): Promise<number> {
    return await this.#change(batch, cancelBatch);
  }

  async retry(batch: string, which: Which): Promise<number> {
    return await this.#change(batch, (settling) => retryTasks(settling, which));
  }

  async amend(batch: string, change: BatchChange): Promise<void> {
    await this.#database.write(async (rows) => {
      await lockAccount(rows, batch);
      const { settings } = await readBatch(rows, batch);
      const amended = JSON.stringify({ ...settings, ...change });
      await rows.all("UPDATE batch SET settings = $2 WHERE id = $1", [batch, amended]);
    });
  }

  async #change(id: string, steps: (settling: Settling) => Promise<number>): Promise<number> {
    const change = async (rows: Rows) => {
      await lockAccount(rows, id);
      const batch: BatchRow = await readBatch(rows, id);
      return await steps({ rows, queue: this.#queue, batch });
    };
    return await this.#database.write(change);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#queue[Symbol.asyncDispose]();
    await this.#database[Symbol.asyncDispose]();
  }
}
