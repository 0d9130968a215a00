import { expect, test } from "bun:test";
import { mergeRateLimits, rateLimitsIn } from "../../lib/model/ratelimits.ts";

const now = Date.parse("2026-11-19T12:00:00Z");
const inSeconds = (seconds: number) => new Date(now + seconds * 1000).toISOString();
const unix = (seconds: number) => String(now / 1000 + seconds);
const read = (headers: Record<string, string>) => rateLimitsIn(new Map(Object.entries(headers)), now);

type Window = [name: string, used: number, minutes: number | null, resetsAt: string | null];

test.each<[string, Record<string, string>, Window[]]>([
  [
    "OpenAI",
    {
      "x-ratelimit-limit-requests": "60",
      "x-ratelimit-limit-tokens": "150000",
      "x-ratelimit-remaining-requests": "59",
      "x-ratelimit-remaining-tokens": "149984",
      "x-ratelimit-reset-requests": "1s",
      "x-ratelimit-reset-tokens": "6m0s",
    },
    [
      ["requests", 1.67, null, inSeconds(1)],
      ["tokens", 0.01, null, inSeconds(360)],
    ],
  ],
  [
    "OpenAI, in milliseconds",
    {
      "x-ratelimit-limit-tokens": "2000",
      "x-ratelimit-remaining-tokens": "1500",
      "x-ratelimit-reset-tokens": "17ms",
    },
    [["tokens", 25, null, inSeconds(0.017)]],
  ],
  [
    "Groq",
    {
      "x-ratelimit-limit-requests": "14400",
      "x-ratelimit-remaining-requests": "14370",
      "x-ratelimit-reset-requests": "2m59.56s",
    },
    [["requests", 0.21, null, inSeconds(179.56)]],
  ],
  [
    "OpenRouter",
    { "x-ratelimit-limit": "50", "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(now + 70_000) },
    [["requests", 100, null, inSeconds(70)]],
  ],
  [
    "Cerebras",
    {
      "x-ratelimit-limit-requests-day": "1000",
      "x-ratelimit-remaining-requests-day": "750",
      "x-ratelimit-reset-requests-day": "33011.4",
      "x-ratelimit-limit-tokens-minute": "100",
      "x-ratelimit-remaining-tokens-minute": "100",
      "x-ratelimit-reset-tokens-minute": "11.4",
    },
    [
      ["requests-day", 25, 1440, inSeconds(33_011.4)],
      ["tokens-minute", 0, 1, inSeconds(11.4)],
    ],
  ],
  [
    "a gateway of the standard's draft",
    { "ratelimit-limit": "100", "ratelimit-remaining": "40", "ratelimit-reset": "30" },
    [["requests", 60, null, inSeconds(30)]],
  ],
  [
    "Anthropic",
    {
      "anthropic-ratelimit-requests-limit": "50",
      "anthropic-ratelimit-requests-remaining": "49",
      "anthropic-ratelimit-requests-reset": "2026-11-19T12:00:02Z",
      "anthropic-ratelimit-input-tokens-limit": "30000",
      "anthropic-ratelimit-input-tokens-remaining": "0",
      "anthropic-ratelimit-input-tokens-reset": "2026-11-19T12:01:00Z",
    },
    [
      ["requests", 2, null, inSeconds(2)],
      ["input-tokens", 100, null, inSeconds(60)],
    ],
  ],
  [
    "Anthropic's subscriptions",
    {
      "anthropic-ratelimit-unified-status": "allowed",
      "anthropic-ratelimit-unified-reset": unix(600),
      "anthropic-ratelimit-unified-5h-utilization": "0.42",
      "anthropic-ratelimit-unified-5h-reset": unix(600),
      "anthropic-ratelimit-unified-7d-utilization": "1.05",
      "anthropic-ratelimit-unified-7d-reset": unix(90_000),
    },
    [
      ["5h", 42, 300, inSeconds(600)],
      ["7d", 105, 10_080, inSeconds(90_000)],
    ],
  ],
  [
    "OpenAI's subscriptions",
    {
      "x-codex-primary-used-percent": "12.5",
      "x-codex-primary-window-minutes": "300",
      "x-codex-primary-reset-after-seconds": "120",
      "x-codex-secondary-used-percent": "40",
      "x-codex-secondary-window-minutes": "10080",
      "x-codex-secondary-reset-at": unix(7200),
      "x-codex-other-primary-used-percent": "0",
      "x-codex-other-primary-window-minutes": "0",
    },
    [
      ["primary", 12.5, 300, inSeconds(120)],
      ["secondary", 40, 10_080, inSeconds(7200)],
    ],
  ],
  [
    "a provider that tells no reset",
    { "x-ratelimit-limit-tokens": "10", "x-ratelimit-remaining-tokens": "4", "x-ratelimit-reset-tokens": "soon" },
    [["tokens", 60, null, null]],
  ],
])("the limits of %s", (_name, headers, windows) => {
  expect(read(headers)).toEqual({
    windows: windows.map(([name, used_percent, window_minutes, resets_at]) => ({
      name,
      used_percent,
      window_minutes,
      resets_at,
    })),
  });
});

test.each<[string, Record<string, string>]>([
  ["nothing", { "content-type": "text/event-stream" }],
  ["what is left, of an unknown whole", { "x-ratelimit-remaining-requests": "5" }],
  ["a limit of nothing", { "x-ratelimit-limit-requests": "0", "x-ratelimit-remaining-requests": "0" }],
  ["no number", { "x-codex-primary-used-percent": "much", "x-codex-primary-window-minutes": "300" }],
])("a provider that tells %s tells no limits", (_name, headers) => {
  expect(read(headers)).toBeUndefined();
});

test("a new snapshot replaces the windows, and keeps credits and plan where it has none", () => {
  const first = read({
    "x-codex-primary-used-percent": "10",
    "x-codex-secondary-used-percent": "20",
    "x-codex-credits-has-credits": "true",
    "x-codex-credits-unlimited": "false",
    "x-codex-credits-balance": "12.40",
    "x-codex-plan-type": "pro",
  });
  const second = read({ "x-codex-primary-used-percent": "11" });
  if (first === undefined || second === undefined) throw new Error("limits were told");
  const merged = mergeRateLimits(first, second);
  expect(merged.windows.map(({ name, used_percent }) => [name, used_percent])).toEqual([["primary", 11]]);
  expect(merged).toMatchObject({ credits: { has_credits: true, unlimited: false, balance: "12.40" }, plan: "pro" });
  expect(mergeRateLimits(merged, { ...second, plan: "plus" }).plan).toBe("plus");
});
