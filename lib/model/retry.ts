import { setTimeout } from "node:timers/promises";
import { KodaError } from "../errors.ts";
import type { Model } from "./model.ts";

export type RetryPolicy = {
  max: number;
  /** From 0 to 1, so that runs that failed together do not retry together. */
  random: () => number;
  /** Waits; throws the signal's reason when it aborts. */
  wait: (ms: number, signal: AbortSignal) => Promise<void>;
};

export const standardRetry: RetryPolicy = { max: 5, random: Math.random, wait };

/** For a replay, where waiting spares no server. */
export const instantRetry: RetryPolicy = { ...standardRetry, wait: async (_ms, signal) => signal.throwIfAborted() };

/**
 * The one place where requests are repeated. `load` loads the model for the first request. The `retry` event comes
 * before the wait and makes everything of the reply so far void.
 */
export function withRetries(load: () => Promise<Model>, policy: RetryPolicy = standardRetry): Model {
  return async function* (request, signal) {
    const ask = await load();
    for (let attempt = 1; ; attempt++) {
      try {
        yield* ask(request, signal);
        return;
      } catch (error) {
        // The reason of an abort may be retryable: for another run, not for another attempt.
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

/** 200 ms, 400 ms, …, each plus or minus a tenth. */
function backoff(attempt: number, random: number): number {
  return Math.round(200 * 2 ** (attempt - 1) * (0.9 + 0.2 * random));
}

async function wait(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
}
