const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Timers count milliseconds in 32 bits; a longer one fires at once. */
export const longestTimeoutMs = 2 ** 31 - 1;

/** `500ms`, `30s`, `1.5m`, `2h`, `30d` or `0` in milliseconds. A number without a unit is ambiguous: undefined. */
export function parseDuration(text: string): number | undefined {
  if (text === "0") return 0;
  const [, amount, unit] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(text) ?? [];
  const factor = unitMs[unit ?? ""];
  return factor === undefined ? undefined : Math.round(Number(amount) * factor);
}

/** Exactly, as a user would write it: 90000 is `90s`, 120000 is `2m`. */
export function formatDuration(ms: number): string {
  const [unit, factor] = Object.entries(unitMs).findLast(([, factor]) => ms % factor === 0) ?? ["ms", 1];
  return ms === 0 ? "0" : `${ms / factor}${unit}`;
}

/** Rounded down to one unit: `5m`, `3h`, `12d`. */
export function formatAge(ms: number): string {
  const [unit, factor] = Object.entries(unitMs).findLast(([unit, factor]) => unit !== "ms" && ms >= factor) ?? [
    "s",
    1_000,
  ];
  return `${Math.floor(ms / factor)}${unit}`;
}

/** A measured time, for people: `40 ms`, `0.4 s`, `12 s`, `3 min 20 s`. */
export function formatElapsed(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 9_950) return `${(ms / 1_000).toFixed(1)} s`;
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
