import { within } from "../async/within.ts";
import type { Drain } from "./drain.ts";
import { graceMs, isGone, isGroupAlive, killNow, takeDown } from "../system/kill.ts";
import { keptBy, marked } from "./processes.ts";
import { type ExitStatus, statusOf, type StatusReport } from "./status.ts";

/** How a command ended. `exitCode` is 128 + the signal's number when a signal ended it, as shells have it. */
export type Ended = {
  exitCode: number;
  signal?: string;
  /** Why it was stopped from outside; absent when it ended by itself. */
  stopped?: StopCause;
  /** The command exited, but others of its group still ran: they have been stopped. */
  leftBehind: boolean;
};

export type StopCause = "timeout" | "abort" | "stop";

export type Running = {
  readonly pid: number;
  /** Settles when the command is over, its output was handed on and its group is gone. */
  readonly ended: Promise<Ended>;
  /** TERM to all of it, KILL two seconds later; settles when it is gone. */
  stop(): Promise<Ended>;
};

export type Supervision = {
  timeoutMs?: number;
  signal?: AbortSignal;
  /** What happens to children that are still there when the command itself has exited. */
  leftovers?: "stop" | "await";
};

/**
 * A command that leads a group of its own. `mark` is in its environment. Where the spawned process waits for what the
 * command leaves behind, `report` has the command's own status and says when all of it is gone.
 */
export type Child = {
  process: Bun.Subprocess;
  drains: readonly Drain[];
  mark: string;
  report?: StatusReport;
};

/** What a killed group still had in its pipes is read in no time; longer waits only who escaped and holds them open. */
const remainderMs = 50;
const leftoverPollMs = 200;

/** Who closes its output is about to exit, most of the time. */
const exitMs = 50;

/** Watches over a command until nothing of it is left. */
export function supervise(
  { process, drains, mark, report }: Child,
  { timeoutMs, signal, leftovers }: Supervision,
): Running {
  const { pid } = process;
  const drained = Promise.all(drains.map(({ done }) => done));
  const unkillable = Promise.withResolvers<void>();
  let hasExited = false;
  let told: ExitStatus | undefined;
  let stopped: StopCause | undefined;
  let takingDown: Promise<void> | undefined;

  const timer = timeoutMs === undefined ? undefined : setTimeout(() => bringDown("timeout"), timeoutMs);
  const onAbort = () => bringDown("abort");
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted === true) onAbort();

  const ended = watch();
  return {
    pid,
    ended,
    async stop() {
      bringDown("stop");
      return ended;
    },
  };

  async function watch(): Promise<Ended> {
    try {
      await hasEnded();
      if (leftovers === "await") await groupEnds();
      clearTimeout(timer);
      const leftBehind = await stopLeftovers();
      return { ...(told ?? statusOf(process)), ...(stopped && { stopped }), leftBehind };
    } catch (error) {
      // Whoever takes the output failed. That is no reason to leave the command running.
      await takeDown(everything);
      throw error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      for (const drain of drains) await drain.abandon();
    }
  }

  /** It has exited, or hangs in the kernel where no signal reaches it. */
  async function hasEnded(): Promise<void> {
    const exit = exited();
    await Promise.race([exit, unkillable.promise, drained.then(async () => exit)]);
  }

  async function exited(): Promise<void> {
    const gone = process.exited.then(() => void (hasExited = true));
    told = await report?.status;
    if (told === undefined) await gone;
  }

  async function groupEnds(): Promise<void> {
    const isWorking = () => stopped === undefined && group().length > 0;
    while (isWorking()) await Bun.sleep(leftoverPollMs);
  }

  /** A process group dies with its call, after a moment in which what it still wants to say is heard. */
  async function stopLeftovers(): Promise<boolean> {
    if (stopped === undefined) await within(graceMs, drained);
    const leftBehind = stopped === undefined && !(await isAllGone());
    if (leftBehind) await (hasExited ? takeDown(group) : endNamespace());
    await takingDown;
    await within(remainderMs, drained);
    return leftBehind;
  }

  /** Who is in the group may clean up first. Who has left it hears nothing, and ends with the namespace. */
  async function endNamespace(): Promise<void> {
    await takeDown(() => keptBy(pid));
    killNow(group);
    // Who hangs in the kernel is not waited for.
    await within(graceMs, process.exited);
  }

  /** The process that waits for what the command left behind reports its end, and then exits by itself. */
  async function isAllGone(): Promise<boolean> {
    let isReported = false;
    const reported = report?.gone.then(() => void (isReported = true));
    await within(exitMs, Promise.race([process.exited, reported ?? process.exited]));
    return isReported || (hasExited && (await isGone(group, exitMs)));
  }

  function bringDown(cause: StopCause): void {
    if (stopped !== undefined) return;
    stopped = cause;
    takingDown = takeAllDown();
  }

  async function takeAllDown(): Promise<void> {
    const isGone = await takeDown(everything);
    if (!isGone) unkillable.resolve();
  }

  function everything(): number[] {
    const escaped = marked(mark).filter((found) => found.group !== pid);
    return [...group(), ...escaped.map((found) => found.pid)];
  }

  function group(): number[] {
    return !hasExited || isGroupAlive(pid) ? [-pid] : [];
  }
}
