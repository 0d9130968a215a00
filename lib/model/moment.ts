/** A time as providers write it, in milliseconds since 1970: a delay, a Unix time or a date. */
export function momentOf(text: string, now: number): number | undefined {
  const number = numberOf(text);
  if (number !== undefined) return number > 1e12 ? number : number > 1e9 ? number * 1000 : now + number * 1000;
  const duration = durationOf(text);
  if (duration !== undefined) return now + duration;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : date;
}

export function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : undefined;
}

const part = String.raw`(\d+(?:\.\d+)?)\s?(milli|ms|s|m(?!o)|h|d)[a-z]*`;
const separator = String.raw`[\s,]*(?:and\s)?`;

/** Matches `1.5s`, `20ms`, `1m30.5s`, `34 seconds`, `2 hours and 5 minutes`. */
export const durationPattern = `(?:${part}${separator})+`.replaceAll(/\((?!\?)/g, "(?:");

/** In milliseconds. */
export function durationOf(text: string): number | undefined {
  if (!new RegExp(`^${durationPattern}$`, "i").test(text)) return undefined;
  const parts = [...text.toLowerCase().matchAll(new RegExp(part, "g"))];
  return parts.reduce((total, [, amount, unit = ""]) => total + Number(amount) * (unitMs[unit] ?? 0), 0);
}

const unitMs: Readonly<Record<string, number>> = {
  milli: 1,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
