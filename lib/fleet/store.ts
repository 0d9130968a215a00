import type { BatchOverview } from "./store/overview.ts";
import type { FleetTask } from "./task.ts";

/** How much of the sessions of tasks the store keeps. Keys of providers never are. */
export const transcriptKinds = ["none", "redacted", "full"] as const;
export type Transcripts = (typeof transcriptKinds)[number];

export type BatchSettings = {
  /** Retries of a task whose provider was unavailable. */
  retries: number;
  /** Other tasks are started after one has failed. */
  keepGoing: boolean;
  /** For all tasks together. */
  maxCost?: number;
  maxTokens?: number;
  transcripts: Transcripts;
  /** A worker that has not been heard of for so long has lost its tasks. */
  leaseMs: number;
  /** The list that the tasks are of, and which of its shards they are. */
  list?: { digest: string; total: number; shard: number; shards: number };
};

export type BatchChange = Partial<Pick<BatchSettings, "retries" | "keepGoing" | "maxCost" | "maxTokens">>;

/**
 * How a task is settled. `poison`: its attempts are used up, or two workers died in it. `skipped`: what it waits for is
 * not done.
 */
export const outcomes = ["done", "failed", "limit", "poison", "cancelled", "skipped"] as const;
export type TaskOutcome = (typeof outcomes)[number];

/** Every task is in one of these at any moment. `waiting`: for other tasks. */
export const taskStates = ["waiting", "queued", "running", ...outcomes] as const;
export type TaskState = (typeof taskStates)[number];

/** `halted`: a task has failed, and the batch does not keep going. `budget`: what it may spend is spent. */
export type BatchState = "open" | "over" | "halted" | "budget" | "cancelled";

/** `isUnpriced`: some of the tokens have no known price, and `costUsd` is what the others cost. */
export type Spending = { costUsd: number; tokens: number; isUnpriced?: boolean };

export type WorkerIdentity = {
  /** Unguessable. */
  id: string;
  pid: number;
  /** Start of the process and identity of the machine, as in lib/session/process.ts. */
  started: string;
  host: string;
  machine: string;
  version: string;
  labels: readonly string[];
};

/** The right of one worker to carry out a task, until it has settled it or is too long silent. */
export type TaskClaim = {
  batch: string;
  task: FleetTask;
  /** 1 for the first. */
  attempt: number;
  settings: BatchSettings;
  /** It goes on with what the attempts before have left; otherwise it starts from the beginning. */
  resumes: boolean;
  /** The most that this attempt may spend, as far as the batch is limited. */
  grant: Partial<Spending>;
  /** The queue's own name for it. */
  ticket: Ticket;
};

export type Ticket = { job: string; round: number };

/** Nothing to do now. `isOver`: nothing will come either, unless someone submits or retries. */
export type Idle = { isOver: boolean };

/**
 * How an attempt ended. `fault`: the machine's, which costs the task nothing. `stopped`: the worker had to end, or the
 * batch was cancelled. `budget`: its grant is spent and there is no more. `wait`: a git server or a directory that was
 * not available, for which no other task has to wait.
 */
export type AttemptEnd = {
  exit: number;
  kind: "exit" | "fault" | "stopped" | "budget" | "wait";
  error?: { code: string; message: string };
  /** The provider is to be left alone until then. */
  retryAt?: number;
  spent: Spending;
  durationMs: number;
  session?: string;
  /** `openai/gpt-5`: a worker may have one of its own. */
  model?: string;
  /** The `end` event of the run, as far as the transcripts allow. */
  result?: Record<string, unknown>;
  /** A unified diff against `ref`. */
  patch?: Uint8Array;
  /** The branch that was pushed. */
  published?: { branch: string; commit: string };
};

/** The consequence of the end of an attempt. */
export type Settled =
  | { kind: "settled"; outcome: TaskOutcome; /** By all attempts. */ spent: Spending }
  | { kind: "retried"; notBefore: number }
  | { kind: "returned" }
  /** The claim had been lost: nothing has changed but the record of this attempt. */
  | { kind: "superseded" };

/** A claim holds until it is lost. `cancelled`: its batch was, so its work has to stop. */
export type Standing = "held" | "lost" | "cancelled";

/** The state of a task in mid-work: items of its session since the last checkpoint, and its patch against `ref`. */
export type Checkpoint = {
  /** The schema of the session database that the items are of. */
  version: number;
  /** The place of the first one in the log. */
  from: number;
  /** Compressed rows of the log. */
  items: Uint8Array;
  patch: Uint8Array;
};

/** A task list with its results, shared by everyone who submits, works and looks. One suite of tests holds for each. */
export interface FleetStore extends AsyncDisposable {
  /** All tasks, or none. */
  submit(id: string, settings: BatchSettings, tasks: readonly FleetTask[]): Promise<void>;

  /** A task for this worker, of one batch or of any. Settles those on the way that have killed two workers. */
  claim(worker: WorkerIdentity, batch?: string): Promise<TaskClaim | Idle>;
  /** Labels of tasks in the queue that this worker does not have. */
  missingLabels(worker: WorkerIdentity, batch?: string): Promise<readonly string[]>;
  /** Says that the worker lives and what its attempts have spent. */
  keep(worker: WorkerIdentity, running: ReadonlyMap<TaskClaim, Spending>): Promise<ReadonlyMap<TaskClaim, Standing>>;
  /** More of the batch's budget for an attempt that has spent its grant; undefined when there is none. */
  grantMore(claim: TaskClaim, spent: Spending): Promise<Partial<Spending> | undefined>;
  /** False when the claim was lost. */
  checkpoint(claim: TaskClaim, checkpoint: Checkpoint): Promise<boolean>;
  /** Those that earlier attempts have left, oldest first. */
  checkpoints(claim: TaskClaim): Promise<readonly Checkpoint[]>;
  end(claim: TaskClaim, end: AttemptEnd): Promise<Settled>;
  /** The worker claims nothing any more, for this reason. */
  leave(worker: WorkerIdentity, why: string): Promise<void>;

  /** Without those that cannot be read, which are told of. */
  batches(onProblem: (message: string) => void): Promise<readonly BatchOverview[]>;
  /** The batch with this id, or with the only one that begins so. Throws `batch_not_found`. */
  find(idOrPrefix: string): Promise<string>;
  overview(batch: string): Promise<BatchOverview>;
  results(batch: string): AsyncIterable<TaskResult>;
  patch(batch: string, key: string): Promise<Uint8Array | undefined>;
  /** Everything that is not settled, now or at the next heartbeat of its worker. Returns the number of tasks. */
  cancel(batch: string): Promise<number>;
  /** Queues settled tasks again. Returns the number of tasks. */
  retry(batch: string, choice: RetryChoice): Promise<number>;
  /** Changes what holds for the rest of the batch. One that is closed stays so until a retry. */
  amend(batch: string, change: BatchChange): Promise<void>;
}

/** Tasks with one of these outcomes, all of them or those with these keys. */
export type RetryChoice = { outcomes: readonly TaskOutcome[]; keys?: readonly string[] | undefined };

export type AttemptRecord = {
  number: number;
  worker: string;
  host: string;
  startedAt: number;
  endedAt?: number;
  /** `open` is running. */
  kind: "open" | "settled" | "retried" | "returned" | "lost" | "superseded" | "cancelled";
  exit?: number;
  error?: { code: string; message: string };
  spent: Spending;
};

export type TaskResult = {
  key: string;
  task: FleetTask;
  state: TaskState;
  attempts: readonly AttemptRecord[];
  spent: Spending;
  durationMs?: number;
  session?: string;
  model?: string;
  result?: Record<string, unknown>;
  hasPatch: boolean;
  published?: { branch: string; commit: string };
};
