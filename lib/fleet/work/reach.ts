import { setTimeout as sleep } from "node:timers/promises";
import { unlessAborted } from "../../async/unlessaborted.ts";
import { KodaError, messageOf } from "../../errors.ts";
import { isForLackOfSpace } from "../../session/database.ts";

type ReachOptions = {
  /** For how long a store that cannot be reached is asked again. */
  patienceMs: number;
  /** Gives up, also when the store itself still waits for an answer. */
  signal: AbortSignal;
  /** Told once, when it begins. */
  onTrouble(message: string): void;
};

const firstPauseMs = 250;
const longestPauseMs = 15_000;

/** Asks the store until it answers. What is wrong with the question itself is thrown at once. */
export async function reachStore<T>(ask: () => Promise<T>, options: ReachOptions): Promise<T> {
  const { patienceMs, signal, onTrouble } = options;
  const deadline = performance.now() + patienceMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      return await unlessAborted(ask(), signal);
    } catch (error) {
      const isOver = performance.now() + pauseMs > deadline || signal.aborted;
      if (!isUnreachable(error) || isOver) throw error;
      if (pauseMs === firstPauseMs) onTrouble(messageOf(error));
      await rest(pauseMs * (0.5 + Math.random()), signal);
    }
  }
}

/** Another machine restarts, or the network is cut. A full disk here is this machine's fault, and stays so. */
function isUnreachable(error: unknown): boolean {
  return error instanceof KodaError && error.code === "store" && !isForLackOfSpace(error);
}

/** Sleeps, unless the signal comes first. */
export async function rest(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
