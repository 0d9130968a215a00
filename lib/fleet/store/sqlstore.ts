import { extendGrant, lockAccount, openAccount } from "./account.ts";
import { type BatchRow, findBatch, liveBatches, readBatch, readBatches } from "./batchrow.ts";
import { isLimited } from "./budget.ts";
import { addCheckpoint, readCheckpoints } from "./checkpoints.ts";
import { claimFrom } from "./claiming.ts";
import type { FleetDatabase, Rows } from "./database.ts";
import { endAttempt, pausedGroups } from "./ending.ts";
import { recordHeartbeat, noteWorker } from "./heartbeat.ts";
import { type BatchOverview, queuedLabels, readOverview } from "./overview.ts";
import type { TaskQueue } from "./queue.ts";
import { cancelBatch, retryTasks } from "./requeue.ts";
import { readResults } from "./results.ts";
import { first } from "./rows.ts";
import type { Settling } from "./queueing.ts";
import { closeWhenOver } from "./settling.ts";
import type {
  AttemptEnd,
  BatchChange,
  BatchSettings,
  Checkpoint,
  TaskClaim,
  FleetStore,
  Idle,
  RetryChoice,
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

  async missingLabels({ labels }: WorkerIdentity, batch?: string): Promise<readonly string[]> {
    return (await queuedLabels(this.#database, batch)).filter((label) => !labels.includes(label));
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
    return await recordHeartbeat({ database: this.#database, queue: this.#queue }, worker, running);
  }

  async grantMore(claim: TaskClaim, spent: Spending): Promise<Partial<Spending> | undefined> {
    return await this.#database.write(async (rows) => {
      await lockAccount(rows, claim.batch);
      return await extendGrant(rows, await readBatch(rows, claim.batch), claim, spent);
    });
  }

  async checkpoint(claim: TaskClaim, checkpoint: Checkpoint): Promise<boolean> {
    return await this.#database.write((rows) => addCheckpoint(rows, claim, checkpoint));
  }

  async checkpoints(claim: TaskClaim): Promise<readonly Checkpoint[]> {
    return await readCheckpoints(this.#database, claim);
  }

  async end(claim: TaskClaim, end: AttemptEnd): Promise<Settled> {
    return await endAttempt({ database: this.#database, queue: this.#queue }, claim, end);
  }

  async leave(worker: WorkerIdentity, why: string): Promise<void> {
    await noteWorker(this.#database, worker, why);
  }

  async batches(onProblem: (message: string) => void): Promise<readonly BatchOverview[]> {
    const batches = await readBatches(this.#database, onProblem);
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

  async retry(batch: string, choice: RetryChoice): Promise<number> {
    return await this.#change(batch, (settling) => retryTasks(settling, choice));
  }

  async amend(batch: string, change: BatchChange): Promise<void> {
    const isFirstBudget = await this.#database.write(async (rows) => {
      await lockAccount(rows, batch);
      const { settings } = await readBatch(rows, batch);
      const amended = { ...settings, ...change };
      await rows.all("UPDATE batch SET settings = $2 WHERE id = $1", [batch, JSON.stringify(amended)]);
      const isFirst = isLimited(amended) && !isLimited(settings);
      if (isFirst) await openAccount(rows, batch);
      return isFirst;
    });
    // Once more: what began and ended meanwhile has seen no budget, and was not seen.
    if (isFirstBudget) await this.#database.write((rows) => openAccount(rows, batch));
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
