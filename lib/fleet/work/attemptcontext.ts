import type { LogTransfer } from "../../session/transfer.ts";
import type { FleetStore, Spending } from "../store.ts";

/** Why an attempt is stopped before its end. */
export class AttemptStop extends Error {
  override readonly name = "AttemptStop";
  /** `lost`: another worker has the task. */
  readonly why: "lost" | "cancelled" | "leaving";

  constructor(why: AttemptStop["why"]) {
    super(stopWords[why]);
    this.why = why;
  }
}

const stopWords: Readonly<Record<AttemptStop["why"], string>> = {
  lost: "Stopped because another worker has the task",
  cancelled: "Stopped because the batch was cancelled",
  leaving: "Stopped with its worker",
};

/** A worker, as one of its attempts sees it. */
export type AttemptContext = {
  /** Its reason is an AttemptStop. */
  stop: AbortSignal;
  /** All that the attempt has spent so far. */
  onSpent(spent: Spending): void;
  note(message: string): void;
  /** Asks the store, also when it cannot be reached for a while. */
  askStore<T>(ask: () => Promise<T>): Promise<T>;
  /** The store has just said that the claim is held. */
  holds(): Promise<boolean>;
};

export type AttemptOptions = {
  store: FleetStore;
  /** koda's session database. */
  database: string;
  /** Of the work trees, in a directory for each batch. */
  directory: string;
  /** The words that start `koda`. */
  program: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  keepTrees?: boolean | undefined;
  /** The flags of `koda exec` that a task may have. Some of the others run commands outside of the sandbox. */
  isTaskFlag(name: string): boolean;
  /** Commands may change what is in `.git`: by a flag for every task, or by the user's configuration. */
  mayWriteGit?: boolean | undefined;
  /** Flags of `koda exec` for every task, which only the worker's own user may give. */
  flags?: readonly string[] | undefined;
  /** Run by the shell after a push. */
  publishCommand?: string | undefined;
  /** The least time between two checkpoints. */
  checkpointMs?: number | undefined;
  /** The longest that git may work at a tree. */
  gitLimitMs?: number | undefined;
};

/** With what the attempts of a worker share. */
export type AttemptServices = Omit<AttemptOptions, "mayWriteGit"> & {
  logs: LogTransfer;
  pids: Set<number>;
  /** Also where the sandbox cannot keep `.git` as it is. */
  mayWriteGit: boolean | Promise<boolean>;
};
