import { within } from "../async/within.ts";
import { graceMs, isGroupAlive, killNow, terminate, waitUntilGone } from "../system/kill.ts";
import { childrenOf, livingProcesses, type ProcessStat, statOf } from "../system/procstat.ts";
import type { Drain } from "./drain.ts";
import { type Mark, marked } from "./marks.ts";
import type { Spawned } from "./spawn.ts";
import { type ExitStatus, statusOf } from "./status.ts";

/** The end of a command. `exitCode` is 128 + the signal's number when a signal ended it, as shells have it. */
export type Ended = {
  exitCode: number;
  signal?: string;
  /** Absent when it ended by itself. */
  stopped?: StopCause;
  /** The command exited, but others of its group still ran: they have been stopped. */
  leftBehind: boolean;
};

type StopCause = "timeout" | "abort" | "stop";

export type JobOptions = {
  timeoutMs?: number;
  signal?: AbortSignal;
  /** The treatment of children that are still there when the command itself has exited. */
  leftovers?: "stop" | "await";
};

/**
 * The process leads a group of its own, and `mark` is on everything that the command starts. Where the process waits
 * for what the command leaves behind, `report` has the command's own status and tells when all of it is gone.
 */
export type Child = Pick<Spawned, "process" | "report"> & { drains: readonly Drain[]; mark: Mark };

/** The pipes of a killed group are read empty in no time; longer waits only for an escaped process that holds them. */
const remainderMs = 50;
const leftoverPollMs = 200;

/** A command that closes its output is about to exit, most of the time. */
const exitMs = 50;

/** A command from its start until nothing of it is left. */
export class Job {
  /** The process's id, which is that of its group too. */
  readonly pid: number;
  /** Settles when the command is over, its output was handed on and its group is gone. */
  readonly ended: Promise<Ended>;

  readonly #child: Child;
  readonly #options: JobOptions;
  readonly #drained: Promise<unknown>;
  readonly #unkillable = Promise.withResolvers<void>();
  readonly #timer: Timer | undefined;
  #hasExited = false;
  #status: ExitStatus | undefined;
  #stopped: StopCause | undefined;
  #termination: Promise<void> | undefined;

  constructor(child: Child, options: JobOptions) {
    const { timeoutMs, signal } = options;
    this.pid = child.process.pid;
    this.#child = child;
    this.#options = options;
    this.#drained = Promise.all(child.drains.map(({ done }) => done));
    if (timeoutMs !== undefined) this.#timer = setTimeout(() => this.#terminate("timeout"), timeoutMs);
    signal?.addEventListener("abort", this.#onAbort, { once: true });
    if (signal?.aborted === true) this.#onAbort();
    this.ended = this.#watch();
  }

  /** TERM to all of it, KILL two seconds later; settles when it is gone. */
  async stop(): Promise<Ended> {
    this.#terminate("stop");
    return this.ended;
  }

  readonly #onAbort = (): void => this.#terminate("abort");

  async #watch(): Promise<Ended> {
    try {
      await this.#hasEnded();
      if (this.#options.leftovers === "await") await this.#groupEnds();
      clearTimeout(this.#timer);
      const leftBehind = await this.#stopLeftovers();
      const stopped = this.#stopped && { stopped: this.#stopped };
      return { ...(this.#status ?? statusOf(this.#child.process)), ...stopped, leftBehind };
    } catch (error) {
      // The reader of the output failed. That is no reason to leave the command running.
      await terminate(() => this.#processes());
      throw error;
    } finally {
      clearTimeout(this.#timer);
      this.#options.signal?.removeEventListener("abort", this.#onAbort);
      for (const drain of this.#child.drains) await drain.abandon();
    }
  }

  /** It has exited, or hangs in the kernel where no signal reaches it. */
  async #hasEnded(): Promise<void> {
    const exit = this.#exited();
    await Promise.race([exit, this.#unkillable.promise, this.#drained.then(async () => exit)]);
  }

  async #exited(): Promise<void> {
    const { process, report } = this.#child;
    const exit = process.exited.then(() => void (this.#hasExited = true));
    this.#status = await report?.status;
    if (this.#status === undefined) await exit;
  }

  async #groupEnds(): Promise<void> {
    while (this.#stopped === undefined && this.#group().length > 0) await Bun.sleep(leftoverPollMs);
  }

  /** Stops what the command left in its group, after a moment in which that may still print. */
  async #stopLeftovers(): Promise<boolean> {
    if (this.#stopped === undefined) await within(graceMs, this.#drained);
    const leftBehind = this.#stopped === undefined && !(await this.#isAllGone());
    if (leftBehind) await (this.#hasExited ? terminate(() => this.#group()) : this.#endNamespace());
    await this.#termination;
    await within(remainderMs, this.#drained);
    return leftBehind;
  }

  /** Members of the group may clean up first. Those that have left it end with the namespace, without a TERM. */
  async #endNamespace(): Promise<void> {
    await terminate(() => this.#namespaceMembers());
    killNow(() => this.#group());
    // A process that hangs in the kernel is not waited for.
    await within(graceMs, this.#child.process.exited);
  }

  /** Without the two outer processes of a namespace: the leader, and its child that collects the dead. */
  #namespaceMembers(): number[] {
    const isMember = ({ pid, parent, group }: ProcessStat) =>
      group === this.pid && pid !== this.pid && parent !== this.pid;
    return (livingProcesses() ?? []).filter(isMember).map(({ pid }) => pid);
  }

  /** The process that waits for what the command left behind reports its end, and then exits by itself. */
  async #isAllGone(): Promise<boolean> {
    const { process, report } = this.#child;
    let isReported = false;
    const reported = report?.gone.then(() => void (isReported = true));
    await within(exitMs, Promise.race([process.exited, reported ?? process.exited]));
    // On a busy machine the report takes longer.
    return isReported || (await waitUntilGone(() => (this.#hasExited ? this.#group() : this.#collected()), exitMs));
  }

  /** All of the namespace that its process for the dead has not collected yet; the leader where that cannot be seen. */
  #collected(): readonly number[] {
    const collectors = childrenOf(this.pid);
    if (collectors === undefined) return statOf(this.pid) === undefined ? [] : [this.pid];
    return collectors.flatMap((collector) => childrenOf(collector) ?? collector);
  }

  #terminate(cause: StopCause): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = cause;
    this.#termination = this.#terminateAll();
  }

  async #terminateAll(): Promise<void> {
    if (!(await terminate(() => this.#processes()))) this.#unkillable.resolve();
  }

  /** The group, and one by one the processes that have left it. */
  #processes(): number[] {
    const escaped = marked(this.#child.mark).filter(({ group }) => group !== this.pid);
    return [...this.#group(), ...escaped.map(({ pid }) => pid)];
  }

  #group(): number[] {
    return !this.#hasExited || isGroupAlive(this.pid) ? [-this.pid] : [];
  }
}
