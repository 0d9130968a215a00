import { beginning, createCapture, markOf, since, type KeptStream } from "./capture.ts";
import type { Shell } from "./spawn.ts";
import { signalBehind, type Output } from "./summary.ts";
import type { Ended } from "./supervise.ts";

export type TaskState =
  { status: "running" } | { status: "exited"; code: number } | { status: "killed"; signal: string };

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

export type TaskOptions = {
  output: string;
  env?: Readonly<Record<string, string>>;
  /** Puts what is kept of its output into the store: now and then while it runs, and when it has ended. */
  save(stdout: KeptStream, stderr: KeptStream): void;
};

/** The commands that one conversation has in the background. A sub-agent has its own. */
export type Tasks = {
  /** Throws a KodaError when it could not be started. */
  start(command: string, options: TaskOptions): TaskView;
  list(): readonly TaskView[];
  /** The task and what it printed since the last look. */
  look(id: string): { task: TaskView; fresh: Output } | undefined;
  /** Settles when nothing of it runs any more. */
  stop(id: string): Promise<TaskView | undefined>;
  stopAll(): Promise<void>;
};

/** How stale the store may be while a task prints. */
const saveEveryMs = 2_000;

export function createTasks(shell: Pick<Shell, "start">): Tasks {
  const tasks = new Map<string, Task>();
  return {
    start(command, options) {
      const id = `t${tasks.size + 1}`;
      const task = startTask(shell, { id, command, ...options });
      tasks.set(id, task);
      return task.view();
    },
    list: () => [...tasks.values()].map((task) => task.view()),
    look: (id) => tasks.get(id)?.look(),
    async stop(id) {
      const task = tasks.get(id);
      await task?.stop();
      return task?.view();
    },
    async stopAll() {
      const stops = await Promise.allSettled([...tasks.values()].map(async (task) => task.stop()));
      // All of them are stopped, whatever happens to the output of one.
      for (const stop of stops) if (stop.status === "rejected") throw stop.reason;
    },
  };
}

type Task = ReturnType<typeof startTask>;

function startTask(shell: Pick<Shell, "start">, given: TaskOptions & { id: string; command: string }) {
  const { id, command, output, env = {}, save } = given;
  let captures = newCaptures();
  let seen = unseen;
  let savedBytes = 0;
  let state: TaskState = { status: "running" };
  let failure: { error: unknown } | undefined;
  const startedAt = performance.now();
  let endedAt: number | undefined;

  const running = shell.start(command, {
    stdout: (bytes) => captures.stdout.add(bytes),
    stderr: (bytes) => captures.stderr.add(bytes),
    env,
    leftovers: "await",
  });
  const saver = setInterval(saveNews, saveEveryMs);
  const over = running.ended.then(settle).catch((error: unknown) => {
    failure ??= { error };
  });

  return {
    view,

    look() {
      saveNews();
      raiseFailure();
      const now = kept();
      const fresh = { stdout: since(seen.stdout, now.stdout), stderr: since(seen.stderr, now.stderr) };
      seen = { stdout: markOf(now.stdout), stderr: markOf(now.stderr) };
      if (state.status !== "running") forget();
      return { task: view(), fresh };
    },

    async stop() {
      await running.stop();
      await over;
      raiseFailure();
    },
  };

  function view(): TaskView {
    return { id, command, state, elapsedMs: Math.round((endedAt ?? performance.now()) - startedAt), output };
  }

  function settle(ended: Ended): void {
    clearInterval(saver);
    endedAt = performance.now();
    const signal = signalBehind(ended);
    state = signal === undefined ? { status: "exited", code: ended.exitCode } : { status: "killed", signal };
    saveNews();
  }

  function kept(): Output {
    return { stdout: captures.stdout.kept(), stderr: captures.stderr.kept() };
  }

  function saveNews(): void {
    const now = kept();
    const total = now.stdout.totalBytes + now.stderr.totalBytes;
    if (total === savedBytes || failure !== undefined) return;
    try {
      save(now.stdout, now.stderr);
      savedBytes = total;
    } catch (error) {
      // Nobody called, so nobody could catch it: it is raised when somebody does.
      failure = { error };
    }
  }

  function raiseFailure(): void {
    if (failure !== undefined) throw failure.error;
  }

  /** Everything was shown and stored, and nothing more will come. */
  function forget(): void {
    captures = newCaptures();
    seen = unseen;
    savedBytes = 0;
  }
}

const unseen = { stdout: beginning, stderr: beginning };

function newCaptures() {
  return { stdout: createCapture(), stderr: createCapture() };
}
