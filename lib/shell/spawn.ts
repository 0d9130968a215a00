/** A line for the shell to interpret, or a program with its arguments, where nothing is interpreted. */
export type CommandLine = string | readonly [program: string, ...args: string[]];

export type StartOptions = {
  /** Called with every piece of output as it comes; the bytes are only lent for the duration of the call. */
  stdout(bytes: Uint8Array): void;
  stderr(bytes: Uint8Array): void;
  /** The policy's root when absent. */
  cwd?: string;
  /** Variables on top of the shell's environment. */
  env?: Readonly<Record<string, string>>;
  timeoutMs?: number;
  signal?: AbortSignal;
  /** What happens to children that are still there when the shell itself has exited: stopped, unless they are awaited. */
  leftovers?: "stop" | "await";
};

/** How a command ended. `exitCode` is 128 + the signal's number when a signal ended it, as shells have it. */
export type Ended = {
  exitCode: number;
  signal?: string;
  /** Why it was stopped from outside; absent when it ended by itself. */
  stopped?: "timeout" | "abort" | "stop";
  /** The shell exited, but processes of its group were still running: they have been stopped. */
  leftBehind: boolean;
};

export type Running = {
  readonly pid: number;
  /** Settles, and never rejects, when the command is over, its output was handed on and its group is gone. */
  readonly ended: Promise<Ended>;
  /** TERM to all of it, KILL two seconds later; settles when it is gone. */
  stop(): Promise<Ended>;
};

/** The one place where processes are started. */
export type Shell = {
  /** Throws a KodaError when nothing could be started at all. */
  start(command: CommandLine, options: StartOptions): Running;
  /** Stops everything that was started here and still runs, what escaped its group included. */
  stopAll(): Promise<void>;
  /** The same with SIGKILL and without waiting, for a process that exits right now. */
  killNow(): void;
};
