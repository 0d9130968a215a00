import type { BatchSettings, Spending, TaskState } from "./store.ts";

/** A batch at one moment. The counts always add up to `total`. */
export type BatchOverview = {
  id: string;
  submittedAt: number;
  settings: BatchSettings;
  total: number;
  counts: Readonly<Record<TaskState, number>>;
  /** `halted`: a task has failed, and the batch does not keep going. `budget`: what it may spend is spent. */
  state: "open" | "over" | "halted" | "budget" | "cancelled";
  spent: Spending;
  /** Set aside for attempts that are running. */
  reserved: Spending;
  workers: readonly WorkerOverview[];
  /** Groups that wait for their provider. */
  paused: readonly { group: string; until: number }[];
};

export type WorkerOverview = {
  id: string;
  host: string;
  pid: number;
  running: readonly string[];
  seenAt: number;
  /** Why it claims nothing any more. */
  left?: string;
};
