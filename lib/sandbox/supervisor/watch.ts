import { constants } from "node:os";
import { receive } from "../../system/descriptors.ts";
import type { Attempt } from "./attempt.ts";
import { close, nowhere, poll, pollEnd, POLLIN, POLLOUT, readLink } from "./calls.ts";
import { handle, type Report } from "./handle.ts";
import { answer, type Call, stillWaits, takeCall } from "./notification.ts";
import type { ConnectRules } from "./rules.ts";

const { EACCES, EAGAIN } = constants.errno;

/** Each holds up to two descriptors of koda's; beyond, a command is told what it is told when a queue is full. */
const mostAttempts = 256;
/** How soon there may be room in a queue, and how soon it matters that a command that waited is dead. */
const [retryMs, checkMs] = [5, 250] as const;

/**
 * Answers the calls of all commands whose listeners arrive at the socket, until nobody is left who could send one.
 * It waits in one place, for everything, and blocks nowhere else.
 */
export function watch(socket: number, rules: ConnectRules, report: Report): void {
  const listeners = new Set<number>();
  const attempts = new Set<Attempt>();
  try {
    for (;;) {
      const tried = [...attempts];
      const asked = [...listeners];
      const wanted = [
        { descriptor: socket, events: POLLIN },
        ...asked.map((descriptor) => ({ descriptor, events: POLLIN })),
        // A negative descriptor is passed over.
        ...tried.map(({ writable = -1 }) => ({ descriptor: writable, events: POLLOUT })),
      ];
      const [arrived = 0, ...ready] = poll(wanted, patience(attempts));

      for (const [index, attempt] of tried.entries())
        if (isDue(attempt, ready[asked.length + index] ?? 0)) proceed(attempt, attempts);
      for (const [index, listener] of asked.entries()) {
        const events = ready[index] ?? 0;
        if (events & POLLIN) take(listener);
        if (events & pollEnd) forget(listener);
      }
      if (arrived & POLLIN) welcome(socket, listeners);
      if (arrived & pollEnd) return;
    }
  } finally {
    for (const attempt of attempts) attempt[Symbol.dispose]();
    for (const listener of listeners) close(listener);
  }

  function take(listener: number): void {
    const call = takeCall(listener);
    if (call === undefined) return;
    const isTooMany = call.name === "connect" && attempts.size >= mostAttempts;
    const result = isTooMany ? -EAGAIN : safely(call);
    if (typeof result === "number") {
      answer(call, result);
      return;
    }
    attempts.add(result);
    proceed(result, attempts);
  }

  /** A defect here must neither allow anything nor end the supervision of all other commands. */
  function safely(call: Call): number | Attempt {
    try {
      return handle(call, rules, report);
    } catch {
      return -EACCES;
    }
  }

  /** No process is left that the filter is about. */
  function forget(listener: number): void {
    for (const attempt of attempts) if (attempt.call.listener === listener) end(attempt, attempts);
    listeners.delete(listener);
    close(listener);
  }
}

/** Takes what is sent; anything but a listener has no business here. */
function welcome(socket: number, listeners: Set<number>): void {
  for (const descriptor of receive(socket, { wait: false })?.descriptors ?? []) {
    const isListener = readLink(nowhere, `/proc/self/fd/${descriptor}`) === "anon_inode:seccomp notify";
    if (isListener) listeners.add(descriptor);
    else close(descriptor);
  }
}

/** For how long nothing has to be done unless something happens. */
function patience(attempts: ReadonlySet<Attempt>): number {
  if (attempts.size === 0) return -1;
  return [...attempts].some(({ writable }) => writable === undefined) ? retryMs : checkMs;
}

/** One whose command is gone is due as well: it ends. */
function isDue(attempt: Attempt, events: number): boolean {
  return attempt.writable === undefined || events !== 0 || !stillWaits(attempt.call);
}

function proceed(attempt: Attempt, attempts: Set<Attempt>): void {
  if (!stillWaits(attempt.call)) {
    end(attempt, attempts);
    return;
  }
  const result = attempt.try();
  if (result === undefined) return;
  // The command's socket is as it was before the command goes on.
  end(attempt, attempts);
  answer(attempt.call, result);
}

function end(attempt: Attempt, attempts: Set<Attempt>): void {
  attempts.delete(attempt);
  attempt[Symbol.dispose]();
}
