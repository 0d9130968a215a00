import { unlessAborted } from "../async/unlessaborted.ts";
import { KodaError } from "../errors.ts";
import type { Model } from "./model.ts";
import type { Attempt } from "./reply.ts";

export type RetryPolicy = {
  max: number;
  /** From 0 to 1: many runs that failed together must not come back together. */
  random: () => number;
  /** Waits, and throws the signal's reason when it aborts meanwhile. */
  wait: (ms: number, signal: AbortSignal) => Promise<void>;
};

export const standardRetry: RetryPolicy = { max: 5, random: Math.random, wait };

/** For a replay: nobody is spared by waiting. */
export const instantRetry: RetryPolicy = { ...standardRetry, wait: async (_ms, signal) => signal.throwIfAborted() };

/**
 * The one place where requests are repeated. `load` gives what makes an attempt, the first time it is needed. A retry
 * is announced before the wait, and says that everything of the reply so far is void.
 */
export function retrying(load: () => Promise<Attempt>, policy: RetryPolicy = standardRetry): Model {
  return async function* (request, signal) {
    const ask = await load();
    for (let attempt = 1; ; attempt++) {
      try {
        yield* ask(request, signal);
        return;
      } catch (error) {
        // Whoever stops a run gives a reason that may be worth another run, but not another attempt.
        signal.throwIfAborted();
        if (!(error instanceof KodaError) || !error.retryable) throw error;
        if (attempt > Math.min(policy.max, error.maxRetries)) throw error;
        const { code, message: reason } = error;
        const delayMs = error.retryAfterMs ?? backoff(attempt, policy.random());
        const message = `Reconnecting… ${attempt}/${policy.max}`;
        yield [{ type: "retry", attempt, max: policy.max, delayMs, code, message, reason }];
        await policy.wait(delayMs, signal);
      }
    }
  };
}

/** 200 ms, 400 ms, …, each a tenth more or less. */
function backoff(attempt: number, random: number): number {
  return Math.round(200 * 2 ** (attempt - 1) * (0.9 + 0.2 * random));
}

async function wait(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  try {
    await unlessAborted(promise, signal);
  } finally {
    clearTimeout(timer);
  }
}
