const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A timer counts its milliseconds in 32 bits; told more, it goes off at once. */
export const longestTimeoutMs = 2 ** 31 - 1;

/** `500ms`, `30s`, `1.5m`, `2h`, `30d` and `0`: milliseconds, or undefined. A bare number is refused: nobody knows its unit. */
export function parseDuration(text: string): number | undefined {
  if (text === "0") return 0;
  const [, amount, unit] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(text) ?? [];
  const factor = unitMs[unit ?? ""];
  return factor === undefined ? undefined : Math.round(Number(amount) * factor);
}

/** In the largest unit that leaves no remainder: 90000 is `90s`, 120000 is `2m`. */
export function formatDuration(ms: number): string {
  const [unit, factor] = Object.entries(unitMs).findLast(([, factor]) => ms % factor === 0) ?? ["ms", 1];
  return ms === 0 ? "0" : `${ms / factor}${unit}`;
}
