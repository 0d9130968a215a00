import type { Rows } from "./database.ts";
import type { Ticket, WorkerIdentity } from "../store.ts";

/** A task that waits for a worker. */
export type QueuedTask = {
  key: string;
  group: string;
  labels: readonly string[];
  /** A time in milliseconds; at once without. */
  notBefore?: number;
  /** It has begun, and goes on before others begin: what was spent on it is not to be in vain. */
  hasBegun?: boolean;
};

export type Taken = { key: string; ticket: Ticket };

/**
 * The next task of a batch, and the worker that has it: the part of a store that is an engine of its own. A task that
 * was taken and is not kept comes back to the queue with a higher round, and its old ticket is void.
 */
export interface TaskQueue extends AsyncDisposable {
  /** Before the first task of a batch is queued. */
  open(rows: Rows, batch: string, leaseMs: number): Promise<void>;
  push(rows: Rows, batch: string, tasks: readonly QueuedTask[], leaseMs: number): Promise<void>;
  /** The first task whose labels this worker has all, and whose group is not among the paused ones. */
  take(rows: Rows, batch: string, worker: WorkerIdentity, pausedGroups: readonly string[]): Promise<Taken | undefined>;
  /** Extends the lease of those that are still held, and returns their jobs. */
  keep(tickets: readonly Ticket[]): Promise<ReadonlySet<string>>;
  /** Removes a task that is done with. False when the ticket is void. */
  complete(rows: Rows, ticket: Ticket): Promise<boolean>;
  /** Removes all tasks that no worker holds, and returns their keys. */
  clear(rows: Rows, batch: string): Promise<readonly string[]>;
  /** Nothing of the batch will be queued, for now. */
  close(rows: Rows, batch: string): Promise<void>;
}
