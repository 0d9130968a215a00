import { setTimeout } from "node:timers/promises";
import { formatDuration, longestTimeoutMs } from "../config/units.ts";
import { type ErrorCode, KodaError } from "../errors.ts";
import type { Model } from "./model.ts";

export type RetryPolicy = {
  max: number;
  /** The longest wait for a limit that the provider says will reset (--wait-limit). */
  waitLimitMs: number;
  /** From 0 to 1, so that runs that failed together do not retry together. */
  random: () => number;
  /** Waits; throws the signal's reason when it aborts. */
  wait: (ms: number, signal: AbortSignal) => Promise<void>;
};

export const standardRetry: RetryPolicy = { max: 5, waitLimitMs: 0, random: Math.random, wait };

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
        if (!(error instanceof KodaError)) throw error;
        const delay = delayAfter(error, attempt, policy);
        if (delay === undefined) throw withAdvice(error, policy);
        const { code, message: reason } = error;
        const doing = delay.isForLimit ? "Waiting for the limit to reset" : "Reconnecting";
        const message = `${doing}… ${attempt}/${policy.max}`;
        yield [{ type: "retry", attempt, max: policy.max, delayMs: delay.ms, code, message, reason }];
        using _ = delay.isForLimit ? request.waits?.() : undefined;
        await policy.wait(delay.ms, signal);
      }
    }
  };
}

type Delay = { ms: number; isForLimit: boolean };

/** The wait before the next attempt; undefined when there is none. */
function delayAfter(error: KodaError, attempt: number, policy: RetryPolicy): Delay | undefined {
  const { code, retryable, maxRetries, retryAfterMs } = error;
  if (attempt > Math.min(policy.max, maxRetries)) return undefined;
  const isLimit = limitCodes.has(code);
  const isLong = retryAfterMs !== undefined && (retryAfterMs > longestDelayMs || !retryable);
  const isWaitedFor = isLimit || (isLong && retryable);
  if (isWaitedFor && retryAfterMs !== undefined && retryAfterMs > 0 && retryAfterMs <= policy.waitLimitMs)
    return { ms: retryAfterMs, isForLimit: true };
  // The provider knows when a limit resets; a server in trouble may come back sooner than it says.
  if (!retryable || (isLong && isLimit)) return undefined;
  // A reset in the past is one of a clock that differs from ours.
  return { ms: Math.min(retryAfterMs || backoff(attempt, policy.random()), longestDelayMs), isForLimit: false };
}

/** A longer wait needs --wait-limit. */
const longestDelayMs = 60_000;

const limitCodes: ReadonlySet<ErrorCode> = new Set(["rate_limit", "quota"]);

/** Says what can be done when no attempt is left. */
function withAdvice(error: KodaError, policy: RetryPolicy): KodaError {
  const { code, message, retryable, httpStatus, retryAfterMs } = error;
  const advice = adviceFor(error, policy);
  if (advice === undefined) return error;
  return new KodaError(code, `${message}. ${advice}`, {
    retryable,
    cause: error,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(httpStatus !== undefined && { httpStatus }),
  });
}

function adviceFor({ code, retryable, retryAfterMs }: KodaError, { waitLimitMs }: RetryPolicy): string | undefined {
  if (code === "overloaded" || code === "unavailable") return "Try again later, or choose another model with -m";
  if (!limitCodes.has(code) || retryAfterMs === undefined) return undefined;
  if (retryAfterMs <= Math.max(waitLimitMs, retryable ? longestDelayMs : 0)) return undefined;
  if (retryAfterMs > longestTimeoutMs) return undefined;
  const minutes = Math.ceil(retryAfterMs / 60_000) * 60_000;
  return `Pass --wait-limit ${formatDuration(minutes)} to wait until the limit resets`;
}

/** 200 ms, 400 ms, …, each plus or minus a tenth. */
function backoff(attempt: number, random: number): number {
  return Math.round(200 * 2 ** (attempt - 1) * (0.9 + 0.2 * random));
}

async function wait(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
}
