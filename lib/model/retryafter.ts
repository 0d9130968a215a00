/** The delay that a provider asks for. At most a minute: after that a new attempt tells more than the announcement. */
export function requestedDelay(headers: Headers, message: string): number | undefined {
  const delay = headerDelay(headers) ?? exhaustedDelay(headers) ?? phraseDelay(message);
  return delay === undefined ? undefined : Math.min(Math.max(0, Math.round(delay)), longestDelay);
}

const longestDelay = 60_000;

function headerDelay(headers: Headers): number | undefined {
  const milliseconds = numberOf(headers.get("retry-after-ms"));
  if (milliseconds !== undefined) return milliseconds;
  const after = headers.get("retry-after");
  if (after === null) return undefined;
  const seconds = numberOf(after);
  if (seconds !== undefined) return seconds * 1000;
  const date = Date.parse(after);
  return Number.isNaN(date) ? durationMs(after) : date - Date.now();
}

/** `x-ratelimit-reset…` of the budgets that are used up. */
function exhaustedDelay(headers: Headers): number | undefined {
  const delays = ["", "-requests", "-tokens"].map((kind) => {
    const remaining = numberOf(headers.get(`x-ratelimit-remaining${kind}`));
    const reset = headers.get(`x-ratelimit-reset${kind}`);
    return reset === null || (remaining ?? 0) > 0 ? undefined : resetDelay(reset);
  });
  const known = delays.filter((delay) => delay !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

/** `1s`, `6m0s`, a number of seconds, or a Unix time in seconds or milliseconds. */
function resetDelay(reset: string): number | undefined {
  const number = numberOf(reset);
  if (number === undefined) return durationMs(reset);
  if (number > 1e12) return number - Date.now();
  return number > 1e9 ? number * 1000 - Date.now() : number * 1000;
}

function phraseDelay(message: string): number | undefined {
  const phrase =
    /(?:try again|retry|wait)(?: again)?(?: in| after| for)? ~?(\d[\d.]*\s?[a-z]+(?:\d[\d.]*[a-z]+)*)/i.exec(message);
  return phrase?.[1] === undefined ? undefined : durationMs(phrase[1]);
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** `1.5s`, `20ms`, `1m30.5s`, `34 seconds`. */
function durationMs(text: string): number | undefined {
  let total: number | undefined;
  for (const [, amount, unit = ""] of text.toLowerCase().matchAll(/(\d+(?:\.\d+)?)\s?([a-z]+)/g)) {
    const factor = unit === "ms" || unit.startsWith("milli") ? units.ms : units[unit.charAt(0)];
    if (factor === undefined) return undefined;
    total = (total ?? 0) + Number(amount) * factor;
  }
  return total;
}

function numberOf(text: string | null): number | undefined {
  return text !== null && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : undefined;
}
