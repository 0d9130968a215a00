import type { Policy } from "../sandbox/policy/policy.ts";
import { type Capture, beginning, createCapture, endOf, since, type KeptStream } from "./capture.ts";
import type { Ended, Job } from "./job.ts";
import type { Shell } from "./shell.ts";
import { signalBehind, type Output } from "./summary.ts";

type TaskState = { status: "running" } | { status: "exited"; code: number } | { status: "killed"; signal: string };

/** A command in the background, as it is now. */
export type TaskView = {
  id: string;
  command: string;
  state: TaskState;
  /** From its start to its end, or to now. */
  elapsedMs: number;
  /** The id under which its output is stored. */
  output: string;
};

type TaskOptions = {
  output: string;
  env?: Readonly<Record<string, string>>;
  policy?: Policy;
  /** Puts what is kept of its output into the store: now and then while it runs, and when it has ended. */
  save(stdout: KeptStream, stderr: KeptStream): void;
};

/** The commands that one conversation has in the background. A sub-agent has its own. */
export class Tasks {
  readonly #shell: Pick<Shell, "start">;
  readonly #tasks = new Map<string, BackgroundTask>();

  constructor(shell: Pick<Shell, "start">) {
    this.#shell = shell;
  }

  /** Throws a KodaError when it could not be started. */
  start(command: string, options: TaskOptions): TaskView {
    const id = `t${this.#tasks.size + 1}`;
    const task = new BackgroundTask(this.#shell, { id, command, ...options });
    this.#tasks.set(id, task);
    return task.view();
  }

  list(): readonly TaskView[] {
    return [...this.#tasks.values()].map((task) => task.view());
  }

  /** The task and what it printed since the last look. */
  look(id: string): { task: TaskView; fresh: Output } | undefined {
    return this.#tasks.get(id)?.look();
  }

  /** Settles when nothing of it runs any more. */
  async stop(id: string): Promise<TaskView | undefined> {
    const task = this.#tasks.get(id);
    await task?.stop();
    return task?.view();
  }

  /** Settles when every task that runs now has ended by itself. */
  async ended(): Promise<void> {
    await Promise.all([...this.#tasks.values()].map((task) => task.settled));
  }

  async stopAll(): Promise<void> {
    const stops = await Promise.allSettled([...this.#tasks.values()].map(async (task) => task.stop()));
    // All of them are stopped, whatever happens to the output of one.
    for (const stop of stops) if (stop.status === "rejected") throw stop.reason;
  }
}

/** The store may be as stale as this while a task prints. */
const saveEveryMs = 2_000;

const unseen = { stdout: beginning, stderr: beginning };

class BackgroundTask {
  readonly #given: TaskOptions & { id: string; command: string };
  readonly #job: Job;
  /** Never rejects. */
  readonly settled: Promise<void>;
  readonly #saver: Timer;
  readonly #startedAt = performance.now();
  #endedAt: number | undefined;
  #state: TaskState = { status: "running" };
  #captures = newCaptures();
  #seen = unseen;
  #savedBytes = 0;
  #failure: { error: unknown } | undefined;

  constructor(shell: Pick<Shell, "start">, given: TaskOptions & { id: string; command: string }) {
    this.#given = given;
    this.#job = shell.start(given.command, {
      stdout: (bytes) => this.#captures.stdout.add(bytes),
      stderr: (bytes) => this.#captures.stderr.add(bytes),
      ...(given.env !== undefined && { env: given.env }),
      ...(given.policy !== undefined && { policy: given.policy }),
      leftovers: "await",
    });
    this.#saver = setInterval(() => this.#save(), saveEveryMs);
    this.settled = this.#settle();
  }

  view(): TaskView {
    const { id, command, output } = this.#given;
    const elapsedMs = Math.round((this.#endedAt ?? performance.now()) - this.#startedAt);
    return { id, command, state: this.#state, elapsedMs, output };
  }

  look(): { task: TaskView; fresh: Output } {
    this.#save();
    this.#throwFailure();
    const now = this.#kept();
    const fresh = { stdout: since(this.#seen.stdout, now.stdout), stderr: since(this.#seen.stderr, now.stderr) };
    this.#seen = { stdout: endOf(now.stdout), stderr: endOf(now.stderr) };
    if (this.#state.status !== "running") this.#forget();
    return { task: this.view(), fresh };
  }

  async stop(): Promise<void> {
    await this.#job.stop();
    await this.settled;
    this.#throwFailure();
  }

  async #settle(): Promise<void> {
    try {
      this.#state = stateAfter(await this.#job.ended);
    } catch (error) {
      this.#failure ??= { error };
    }
    clearInterval(this.#saver);
    this.#endedAt = performance.now();
    this.#save();
  }

  #kept(): Output {
    return { stdout: this.#captures.stdout.kept(), stderr: this.#captures.stderr.kept() };
  }

  #save(): void {
    const { stdout, stderr } = this.#kept();
    const total = stdout.totalBytes + stderr.totalBytes;
    if (total === this.#savedBytes || this.#failure !== undefined) return;
    try {
      this.#given.save(stdout, stderr);
      this.#savedBytes = total;
    } catch (error) {
      // A timer has no caller to catch it: the next look or stop throws it.
      this.#failure = { error };
    }
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Everything was shown and stored, and nothing more will come. */
  #forget(): void {
    this.#captures = newCaptures();
    this.#seen = unseen;
    this.#savedBytes = 0;
  }
}

function stateAfter(ended: Ended): TaskState {
  const signal = signalBehind(ended);
  return signal === undefined ? { status: "exited", code: ended.exitCode } : { status: "killed", signal };
}

function newCaptures(): { stdout: Capture; stderr: Capture } {
  return { stdout: createCapture(), stderr: createCapture() };
}
