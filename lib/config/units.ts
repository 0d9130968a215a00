const msByUnit = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

const durationForm = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

/** Timers count in 32 bits: beyond this they fire at once. */
const longestMs = 2 ** 31 - 1;

/** What a duration looks like, for the message about one that does not. */
export const durationExpected = `a duration such as "500ms", "30s", "10m" or "2h"`;

/** `500ms`, `30s`, `10m`, `2h`, `7d`: milliseconds, or undefined when the text is no duration. The unit is required. */
export function parseDuration(text: string): number | undefined {
  const [, amount, unit] = durationForm.exec(text) ?? [];
  if (amount === undefined || unit === undefined) return undefined;
  const ms = Math.round(Number(amount) * msByUnit[unit as keyof typeof msByUnit]);
  return Number.isSafeInteger(ms) ? ms : undefined;
}

/** A duration that something can be timed by: not zero, and no longer than a timer can wait (24 days). */
export function parseTimeout(text: string): number | undefined {
  const ms = parseDuration(text);
  return ms !== undefined && ms >= 1 && ms <= longestMs ? ms : undefined;
}
