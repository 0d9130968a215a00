import type { JobInsert } from "pg-boss";
import { z } from "zod";
import { formatDuration } from "../../config/units.ts";
import { KodaError } from "../../errors.ts";
import { addQueue, closeQueues, type LabelledQueue, queuesOf, reopenQueues, suitable } from "./batchqueues.ts";
import { queueNameOf } from "./bossnames.ts";
import { Boss, bossDatabase, type BossOptions } from "./boss.ts";
import type { FleetDatabase, Rows } from "../store/database.ts";
import type { QueuedTask, Taken, TaskQueue } from "../store/queue.ts";
import type { Ticket, WorkerIdentity } from "../store.ts";

/** The shortest that pg-boss knows. */
const shortestLeaseMs = 10_000;

const day = 24 * 60 * 60;

/** Of every queue: koda itself counts tries, and a task waits for its worker as long as it takes. */
const queueOptions = {
  retryLimit: 1_000_000,
  retryDelay: 0,
  retentionSeconds: 3650 * day,
  // The longest that pg-boss knows. A task that runs longer is given to another worker.
  expireInSeconds: day,
  // koda's own tables keep the results.
  deleteAfterSeconds: 60 * 60,
  // A backlog is what a batch is.
  warningQueueSize: 2 ** 31 - 1,
};

const clearedAtOnce = 1000;

const manyTasks = 500;

/** pg-boss's queues, one for each batch and set of labels. Its jobs have the key of a task and nothing else. */
export class BossQueue implements TaskQueue {
  readonly #database: FleetDatabase;
  readonly #boss: Boss;
  readonly #queues = new Map<string, readonly LabelledQueue[]>();

  constructor(database: FleetDatabase, options: BossOptions) {
    this.#database = database;
    this.#boss = new Boss(database, options);
  }

  async open(rows: Rows, batch: string, leaseMs: number): Promise<void> {
    assertLease(leaseMs);
    await reopenQueues(rows, batch);
  }

  async push(rows: Rows, batch: string, tasks: readonly QueuedTask[], leaseMs: number): Promise<void> {
    const boss = await this.#boss.started();
    const ordered = tasks.map((task, at) => ({
      ...task,
      priority: task.hasBegun === true ? 1 : -at,
      name: queueNameOf(batch, task.labels),
    }));
    for (const [name, queued] of Map.groupBy(ordered, (task) => task.name)) {
      const isNew = await addQueue(rows, batch, { name, labels: queued[0]?.labels ?? [] });
      // This is not undone with the transaction, and an empty queue is no harm.
      if (isNew) await boss.createQueue(name, queueOptions);
      const jobs = queued.map((task) => jobOf(task, leaseMs));
      await boss.insert(name, jobs, { db: bossDatabase(rows) });
    }
    // Until it knows how many there are, PostgreSQL looks for a task by its state, among all that are queued.
    if (tasks.length >= manyTasks) await rows.all("ANALYZE batch_task");
  }

  async take(
    rows: Rows,
    batch: string,
    { labels }: WorkerIdentity,
    pausedGroups: readonly string[],
  ): Promise<Taken | undefined> {
    const known = this.#queues.get(batch) ?? [];
    const taken = await this.#takeFrom(rows, suitable(known, labels), pausedGroups);
    if (taken !== undefined) return taken;
    // Only now: a busy worker need not ask for what it knows.
    const found = await queuesOf(rows, batch);
    this.#queues.set(batch, found);
    const added = found.filter(({ name }) => known.every((queue) => queue.name !== name));
    return await this.#takeFrom(rows, suitable(added, labels), pausedGroups);
  }

  async keep(tickets: readonly Ticket[]): Promise<ReadonlySet<string>> {
    const boss = await this.#boss.started();
    const held = new Set<string>();
    for (const [name, jobs] of Map.groupBy(tickets.map(attemptOf), (attempt) => attempt.name)) {
      const touch = async (rows: Rows) => await boss.touch(name, jobs, { db: bossDatabase(rows) });
      const { settled } = responseSchema.parse(await this.#database.write(touch));
      for (const id of settled) held.add(jobName(id, name));
    }
    return held;
  }

  async complete(rows: Rows, ticket: Ticket): Promise<boolean> {
    const boss = await this.#boss.started();
    const { name, ...attempt } = attemptOf(ticket);
    const response = await boss.complete(name, attempt, null, { db: bossDatabase(rows) });
    return responseSchema.parse(response).affected > 0;
  }

  /** Takes them and completes them: what another worker takes meanwhile stays with that. */
  async clear(rows: Rows, batch: string): Promise<readonly string[]> {
    const db = bossDatabase(rows);
    const keys: string[] = [];
    for (const { name } of await queuesOf(rows, batch)) {
      const boss = await this.#boss.started();
      for (;;) {
        const options = { db, batchSize: clearedAtOnce, ignoreStartAfter: true };
        const jobs = await boss.fetch<{ key: string }>(name, options);
        if (jobs.length > 0) await boss.complete(name, jobs, null, { db });
        keys.push(...jobs.map(({ data }) => data.key));
        if (jobs.length < clearedAtOnce) break;
      }
    }
    return keys;
  }

  async close(rows: Rows, batch: string): Promise<void> {
    await closeQueues(rows, batch);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#boss[Symbol.asyncDispose]();
  }

  async #takeFrom(
    rows: Rows,
    queues: readonly LabelledQueue[],
    pausedGroups: readonly string[],
  ): Promise<Taken | undefined> {
    if (queues.length === 0) return undefined;
    const boss = await this.#boss.started();
    const options = { db: bossDatabase(rows), ignoreGroups: [...pausedGroups] };
    for (const { name } of queues) {
      const [job] = await boss.fetch<{ key: string }>(name, options);
      if (job !== undefined)
        return { key: job.data.key, ticket: { job: jobName(job.id, name), round: job.retryCount } };
    }
    return undefined;
  }
}

/** In the order of the list, since they are all created at the same moment. Clocks differ, so a wait is a duration. */
function jobOf({ key, group, notBefore, priority }: QueuedTask & { priority: number }, leaseMs: number): JobInsert {
  return {
    data: { key },
    priority,
    group: { id: group },
    heartbeatSeconds: Math.ceil(leaseMs / 1000),
    ...(notBefore !== undefined && { startAfter: Math.max(0, notBefore - Date.now()) / 1000 }),
  };
}

/** A ticket names the queue as well, which pg-boss wants to know. */
function jobName(id: string, queue: string): string {
  return `${id} ${queue}`;
}

function attemptOf({ job, round }: Ticket): { name: string; id: string; retryCount: number } {
  const [id = "", name = ""] = job.split(" ");
  return { name, id, retryCount: round };
}

/** pg-boss's types say nothing of it. */
const responseSchema = z.object({ affected: z.number(), settled: z.array(z.string()) });

function assertLease(ms: number): void {
  if (ms >= shortestLeaseMs) return;
  const least = formatDuration(shortestLeaseMs);
  throw new KodaError(
    "usage",
    `A lease of ${formatDuration(ms)} is too short for PostgreSQL: expected at least ${least}`,
  );
}
