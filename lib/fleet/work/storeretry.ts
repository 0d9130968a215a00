import { setTimeout as sleep } from "node:timers/promises";
import { unlessAborted } from "../../async/unlessaborted.ts";
import { KodaError, messageOf } from "../../errors.ts";
import { isForLackOfSpace } from "../../session/database.ts";

type RetryOptions = {
  /** For how long a store that cannot be reached is asked again. */
  patienceMs: number;
  /** The worker is told to stop: from then on a question is given up after the grace, whenever it was asked. */
  signal: AbortSignal;
  graceMs: number;
  /** Told once, until the store has answered again. */
  onOutage(message: string): void;
};

const firstPauseMs = 250;
const longestPauseMs = 15_000;

/** Asks a store again that may be away for a while. */
export class StoreRetry {
  readonly #options: RetryOptions;
  #isDown = false;

  constructor(options: RetryOptions) {
    this.#options = options;
  }

  /** Asks the store until it answers. What is wrong with the question itself is thrown at once. */
  async ask<T>(question: () => Promise<T>): Promise<T> {
    const { patienceMs, signal, graceMs } = this.#options;
    let deadline = performance.now() + patienceMs;
    let isStopping = false;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      try {
        return await unlessAborted(this.once(question), signal, { graceMs });
      } catch (error) {
        if (signal.aborted && !isStopping) {
          isStopping = true;
          deadline = Math.min(deadline, performance.now() + graceMs);
        }
        if (!isUnreachable(error) || performance.now() + pauseMs > deadline) throw error;
        const sleeping = sleep(pauseMs * (0.5 + Math.random()), undefined, isStopping ? {} : { signal });
        await sleeping.catch(() => undefined);
      }
    }
  }

  async once<T>(question: () => Promise<T>): Promise<T> {
    try {
      const answer = await question();
      this.#isDown = false;
      return answer;
    } catch (error) {
      const { signal, onOutage } = this.#options;
      if (isUnreachable(error) && !this.#isDown && !signal.aborted) {
        this.#isDown = true;
        onOutage(messageOf(error));
      }
      throw error;
    }
  }
}

/** Another machine restarts, or the network is cut. A full disk here is this machine's fault, and stays so. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof KodaError && error.code === "store" && !isForLackOfSpace(error);
}
