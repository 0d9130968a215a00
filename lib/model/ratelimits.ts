import { momentOf, numberOf } from "./moment.ts";

/** Headers by lower-case name, with those that an error's body repeats. */
export type HeaderMap = ReadonlyMap<string, string>;

/** The provider's own limits, as its last response told them. */
export type RateLimits = {
  windows: RateWindow[];
  credits?: { has_credits: boolean; unlimited: boolean; balance: string | null };
  plan?: string;
};

type RateWindow = {
  name: string;
  used_percent: number;
  /** Null when it is not told, like `resets_at`. */
  window_minutes: number | null;
  resets_at: string | null;
};

/** Undefined when the headers tell nothing. */
export function rateLimitsIn(headers: HeaderMap, now: number): RateLimits | undefined {
  const windows = readingsIn(headers, now).flatMap((reading) => windowOf(reading) ?? []);
  const credits = creditsIn(headers);
  const plan = headers.get("x-codex-plan-type");
  if (windows.length === 0 && credits === undefined && plan === undefined) return undefined;
  return { windows, ...(credits && { credits }), ...(plan !== undefined && { plan }) };
}

/** A new snapshot replaces the windows, and keeps credits and plan where it does not have them. */
export function mergeRateLimits(before: RateLimits | undefined, now: RateLimits): RateLimits {
  const isSilent = now.windows.length === 0 && before !== undefined;
  return { ...before, ...now, ...(isSilent && { windows: before.windows }) };
}

/** When the limits that are used up reset, in milliseconds since 1970. */
export function resetOfSpent(headers: HeaderMap, now: number): number | undefined {
  const resets = readingsIn(headers, now).flatMap(({ isSpent, resetsAt }) => (isSpent ? (resetsAt ?? []) : []));
  return resets.length === 0 ? undefined : Math.max(...resets);
}

/** A family of headers; `*` is the name of a window. */
type Family = {
  /** Each of these headers is the sign of a window. */
  signs: readonly string[];
  /** Told either as a number that is left of a limit … */
  left?: { limit: string; remaining: string };
  /** … or as the part that is used, of `whole`. */
  used?: { header: string; whole: number };
  minutes?: string;
  resets: readonly string[];
};

const families: readonly Family[] = [
  // OpenAI, Groq, Together, Cerebras, Mistral and many gateways.
  {
    signs: ["x-ratelimit-remaining-*", "x-ratelimit-reset-*"],
    left: { limit: "x-ratelimit-limit-*", remaining: "x-ratelimit-remaining-*" },
    resets: ["x-ratelimit-reset-*"],
  },
  // OpenRouter, and others that count only requests.
  {
    signs: ["x-ratelimit-remaining", "x-ratelimit-reset"],
    left: { limit: "x-ratelimit-limit", remaining: "x-ratelimit-remaining" },
    resets: ["x-ratelimit-reset"],
  },
  {
    signs: ["ratelimit-remaining"],
    left: { limit: "ratelimit-limit", remaining: "ratelimit-remaining" },
    resets: ["ratelimit-reset"],
  },
  {
    signs: ["anthropic-ratelimit-*-remaining"],
    left: { limit: "anthropic-ratelimit-*-limit", remaining: "anthropic-ratelimit-*-remaining" },
    resets: ["anthropic-ratelimit-*-reset"],
  },
  // Anthropic's subscriptions.
  {
    signs: ["anthropic-ratelimit-unified-*-utilization"],
    used: { header: "anthropic-ratelimit-unified-*-utilization", whole: 1 },
    resets: ["anthropic-ratelimit-unified-*-reset"],
  },
  // OpenAI's subscriptions.
  {
    signs: ["x-codex-*-used-percent"],
    used: { header: "x-codex-*-used-percent", whole: 100 },
    minutes: "x-codex-*-window-minutes",
    resets: ["x-codex-*-reset-at", "x-codex-*-reset-after-seconds"],
  },
];

type Reading = {
  name: string;
  usedPercent: number | undefined;
  isSpent: boolean;
  minutes: number | undefined;
  resetsAt: number | undefined;
};

function readingsIn(headers: HeaderMap, now: number): Reading[] {
  return families.flatMap((family) => namesIn(headers, family).map((name) => read(family, name, { headers, now })));
}

/** The names of a family's windows; one without a name counts requests. */
function namesIn(headers: HeaderMap, { signs }: Family): string[] {
  const names = signs.flatMap((sign) => {
    const [before = "", after] = sign.split("*");
    if (after === undefined) return headers.has(sign) ? ["requests"] : [];
    const found = [...headers.keys()].filter((key) => key.startsWith(before) && key.endsWith(after));
    return found.map((key) => key.slice(before.length, key.length - after.length));
  });
  return [...new Set(names)];
}

function read(family: Family, name: string, { headers, now }: { headers: HeaderMap; now: number }): Reading {
  const { left, used, minutes, resets } = family;
  const at = (template: string | undefined) => headers.get(template?.replace("*", name) ?? "");
  const reset = resets.map(at).find((text) => text !== undefined);
  const percent = used === undefined ? undefined : percentOf(numberOf(at(used.header)), used.whole);
  const remaining = numberOf(at(left?.remaining));
  const limit = numberOf(at(left?.limit));
  return {
    name,
    usedPercent: percent ?? (remaining === undefined || !limit ? undefined : percentOf(limit - remaining, limit)),
    // A limit with only a reset time counts as reached: this is asked after a refusal.
    isSpent: left === undefined ? (percent ?? 0) >= 100 : (remaining ?? 0) <= 0,
    minutes: numberOf(at(minutes)) ?? minutesIn(name),
    resetsAt: reset === undefined ? undefined : momentOf(reset, now),
  };
}

function percentOf(part: number | undefined, whole: number): number | undefined {
  return part === undefined ? undefined : Math.round(Math.max(0, part / whole) * 1e4) / 100;
}

/** The length of a window that is named for it: `5h`, `7d`, `requests-day`, `tokens-minute`. */
function minutesIn(name: string): number | undefined {
  const [, count = "1", unit = ""] = /(?:^|-)(\d+)?(m|h|d|minute|hour|day)$/.exec(name) ?? [];
  const minutes = { m: 1, h: 60, d: 1440 }[unit.charAt(0)];
  return minutes && Number(count) * minutes;
}

/** A window without length and use is one that does not exist. */
function windowOf({ name, usedPercent, minutes, resetsAt }: Reading): RateWindow | undefined {
  if (usedPercent === undefined || (usedPercent === 0 && minutes === 0)) return undefined;
  const reset = new Date(resetsAt ?? NaN);
  return {
    name,
    used_percent: usedPercent,
    window_minutes: minutes ?? null,
    resets_at: Number.isNaN(reset.getTime()) ? null : reset.toISOString(),
  };
}

function creditsIn(headers: HeaderMap): RateLimits["credits"] {
  const [has, unlimited, balance] = ["has-credits", "unlimited", "balance"].map((name) =>
    headers.get(`x-codex-credits-${name}`),
  );
  if (has === undefined && balance === undefined) return undefined;
  const isTrue = (text: string | undefined) => /^(true|1)$/i.test(text ?? "");
  return { has_credits: isTrue(has), unlimited: isTrue(unlimited), balance: balance || null };
}
