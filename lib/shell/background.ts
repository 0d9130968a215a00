import type { KeptStream } from "./capture.ts";

export type TaskState =
  | { status: "running" }
  | { status: "exited"; code: number }
  | { status: "killed"; signal: string };

/** A command in the background, as it is now. */
export type TaskView = {
  id: string;
  command: string;
  state: TaskState;
  /** Milliseconds from its start to its end, or to now. */
  elapsedMs: number;
};

export type TaskOptions = {
  /** Puts what is kept of its output into the store: now and then while it runs, and when it has ended. */
  save(stdout: KeptStream, stderr: KeptStream): void;
};

/** The commands that one conversation has in the background. */
export type Tasks = {
  start(command: string, options: TaskOptions): TaskView;
  list(): readonly TaskView[];
  /** What it printed since the last look; undefined for an unknown id. */
  look(id: string): { task: TaskView; stdout: KeptStream; stderr: KeptStream } | undefined;
  stop(id: string): Promise<TaskView | undefined>;
  stopAll(): Promise<void>;
};
