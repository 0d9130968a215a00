import { durationOf, durationPattern, momentOf, numberOf } from "./moment.ts";
import { type HeaderMap, resetOfSpent } from "./ratelimits.ts";

/** The delay that a provider asks for, or the time until a limit that was reached resets. */
export function requestedDelay(headers: HeaderMap, message: string, now: number = Date.now()): number | undefined {
  const delay = headerDelay(headers, now) ?? resetDelay(headers, now) ?? phraseDelay(message);
  return delay === undefined ? undefined : Math.min(Math.max(0, Math.round(delay)), longestDelay);
}

/** A year; anything longer is a mistake. */
const longestDelay = 365 * 86_400_000;

function headerDelay(headers: HeaderMap, now: number): number | undefined {
  const milliseconds = numberOf(headers.get("retry-after-ms"));
  if (milliseconds !== undefined) return milliseconds;
  const after = headers.get("retry-after");
  const moment = after === undefined ? undefined : momentOf(after, now);
  return moment === undefined ? undefined : moment - now;
}

function resetDelay(headers: HeaderMap, now: number): number | undefined {
  const reset = resetOfSpent(headers, now);
  return reset === undefined ? undefined : reset - now;
}

const phrase = new RegExp(
  `(?:try again|retry|wait|resets?)(?: again)?(?: in| after| for)? ~?(${durationPattern})(?![a-z])`,
  "i",
);

function phraseDelay(message: string): number | undefined {
  return durationOf(phrase.exec(message)?.[1] ?? "");
}
