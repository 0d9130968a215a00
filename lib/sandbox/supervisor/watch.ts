import { constants } from "node:os";
import { receive } from "../../system/descriptors.ts";
import { Attempt } from "./attempt.ts";
import { close, nowhere, poll, pollEnd, POLLIN, POLLOUT, readLink } from "./calls.ts";
import { handle, type Report } from "./handle.ts";
import { type CallResult, answer, type Call, stillWaits, takeCall } from "./notification.ts";
import type { ConnectRules } from "./rules.ts";

const { EACCES, EAGAIN } = constants.errno;

/** Each holds up to two descriptors of koda's; beyond, a command is told what it is told when a queue is full. */
const mostAttempts = 256;
/** How soon there may be room in a queue, and how soon it matters that a command that waited is dead. */
const [retryMs, checkMs] = [5, 250] as const;

/** A socket at which listeners arrive: only programs that were given its other end can send any. */
export type RuledSocket = { socket: number; rules: ConnectRules };

type Reports = {
  report: Report;
  /** No listener can come from that socket any more. */
  abandon(socket: number): void;
};

/**
 * Answers the calls of all commands whose listeners arrive, each by the rules of the socket that its listener came
 * through. It waits in one place, for everything; a byte of `control` says that there is another socket to add.
 */
export class Watch {
  readonly #control: number;
  readonly #reports: Reports;
  readonly #sockets = new Map<number, ConnectRules>();
  readonly #listeners = new Map<number, ConnectRules>();
  readonly #attempts = new Set<Attempt>();

  constructor(control: number, reports: Reports) {
    this.#control = control;
    this.#reports = reports;
  }

  add({ socket, rules }: RuledSocket): void {
    this.#sockets.set(socket, rules);
  }

  /** Works until another socket is announced; false when `control` has ended instead. */
  work(): boolean {
    let isAnnounced = false;
    try {
      let events = 0;
      while (events === 0) events = this.#wait();
      // All that was announced before the end is taken.
      isAnnounced = receive(this.#control) !== undefined;
      return isAnnounced;
    } finally {
      if (!isAnnounced) this.#close();
    }
  }

  /** Waits until something happens and deals with it; returns the events of `control`. */
  #wait(): number {
    const [attempts, listeners, sockets] = [[...this.#attempts], [...this.#listeners], [...this.#sockets]];
    const inputs = [...listeners, ...sockets].map(([descriptor]) => descriptor);
    const events = poll(
      [
        // A negative descriptor is passed over.
        ...attempts.map(({ writable = -1 }) => ({ descriptor: writable, events: POLLOUT })),
        ...[...inputs, this.#control].map((descriptor) => ({ descriptor, events: POLLIN })),
      ],
      timeoutFor(this.#attempts),
    ).values();
    const next = () => events.next().value ?? 0;
    for (const attempt of attempts) this.#continue(attempt, next());
    for (const [listener, rules] of listeners) this.#serve(listener, rules, next());
    for (const [socket, rules] of sockets) this.#accept(socket, rules, next());
    return next();
  }

  /** An attempt whose command is gone is due as well: it ends. */
  #continue(attempt: Attempt, events: number): void {
    const isDue = attempt.writable === undefined || events !== 0 || !stillWaits(attempt.call);
    if (isDue) this.#proceed(attempt);
  }

  #proceed(attempt: Attempt): void {
    if (!stillWaits(attempt.call)) {
      this.#end(attempt);
      return;
    }
    const result = attempt.try();
    if (result === undefined) return;
    // The command's socket is as it was before the command goes on.
    this.#end(attempt);
    answer(attempt.call, result);
  }

  #end(attempt: Attempt): void {
    this.#attempts.delete(attempt);
    attempt[Symbol.dispose]();
  }

  #serve(listener: number, rules: ConnectRules, events: number): void {
    const call = events & POLLIN ? takeCall(listener) : undefined;
    if (call !== undefined) this.#take(call, rules);
    if (events & pollEnd) this.#forget(listener);
  }

  #take(call: Call, rules: ConnectRules): void {
    const isTooMany = call.name === "connect" && this.#attempts.size >= mostAttempts;
    const result = isTooMany ? -EAGAIN : this.#handle(call, rules);
    if (!(result instanceof Attempt)) {
      answer(call, result);
      return;
    }
    this.#attempts.add(result);
    this.#proceed(result);
  }

  /** A defect here must neither allow anything nor end the supervision of all other commands. */
  #handle(call: Call, rules: ConnectRules): CallResult | Attempt {
    try {
      return handle(call, rules, this.#reports.report);
    } catch {
      return -EACCES;
    }
  }

  /** No process is left that the filter is about. */
  #forget(listener: number): void {
    for (const attempt of this.#attempts) if (attempt.call.listener === listener) this.#end(attempt);
    this.#listeners.delete(listener);
    close(listener);
  }

  /** Anything but a listener has no business here. */
  #accept(socket: number, rules: ConnectRules, events: number): void {
    const message = events === 0 ? undefined : receive(socket);
    for (const descriptor of message?.descriptors ?? []) {
      const isListener = readLink(nowhere, `/proc/self/fd/${descriptor}`) === "anon_inode:seccomp notify";
      if (isListener) this.#listeners.set(descriptor, rules);
      else close(descriptor);
    }
    if (message !== undefined || !(events & pollEnd)) return;
    this.#sockets.delete(socket);
    this.#reports.abandon(socket);
  }

  #close(): void {
    for (const attempt of this.#attempts) attempt[Symbol.dispose]();
    for (const listener of this.#listeners.keys()) close(listener);
  }
}

/** For how long nothing has to be done unless something happens. */
function timeoutFor(attempts: ReadonlySet<Attempt>): number {
  if (attempts.size === 0) return -1;
  return [...attempts].some(({ writable }) => writable === undefined) ? retryMs : checkMs;
}
