import { expect, test } from "bun:test";
import {
  affordableOutput,
  costOf,
  isLastRequest,
  type Ledger,
  limitReached,
  openLedger,
  spend,
  spendLost,
} from "../../lib/engine/ledger.ts";
import type { Price, Usage } from "../../lib/model/model.ts";
import { addUsage, noUsage } from "../../lib/model/usage.ts";

const usage = (input: number | null, output: number | null) => ({ input, output, cached: null, reasoning: null });
const price: Price = { input: 2, cached: 0.5, output: 10 };

/** Counts a reply; what is not reported is estimated as 1000 tokens of input and 100 of output. */
function count(ledger: Ledger, reported: Usage, of: Price | undefined = price): void {
  spend(ledger, { usage: reported, estimate: () => ({ input: 1000, output: 100 }), price: of });
}

test("what was never reported stays unknown", () => {
  expect(addUsage(noUsage, noUsage)).toEqual(noUsage);
  expect(addUsage(usage(3, null), usage(4, 2))).toEqual(usage(7, 2));
});

test("a token limit counts input and output, and cached tokens once", () => {
  const ledger = openLedger({ maxTurns: 10, maxTokens: 100 });
  count(ledger, { input: 60, cached: 50, output: 20, reasoning: 10 });
  expect(limitReached(ledger)).toBeUndefined();
  count(ledger, usage(20, 0));
  expect(limitReached(ledger)).toMatchObject({ code: "max_tokens" });
});

test("a token limit holds for a provider that reports nothing", () => {
  const ledger = openLedger({ maxTurns: 10, maxTokens: 100 });
  count(ledger, usage(null, null));
  expect(limitReached(ledger)).toMatchObject({ code: "max_tokens" });
  expect(ledger.usage).toEqual(noUsage);
});

test("the last request is the one before the turn limit", () => {
  const ledger = openLedger({ maxTurns: 2 });
  expect(isLastRequest(ledger)).toBe(false);
  ledger.requests++;
  expect(isLastRequest(ledger)).toBe(true);
  ledger.requests++;
  expect(limitReached(ledger)).toMatchObject({ code: "max_turns" });
});

test("the cost has cached tokens at their own price, or at that of others where there is none", () => {
  const ledger = openLedger({ maxTurns: 10 });
  count(ledger, { input: 1_000, cached: 800, output: 100, reasoning: null });
  count(ledger, usage(1_000, 100));
  expect(costOf(ledger, { input: 1.25, cached: 0.125, output: 10 })).toBe(0.0036);
  expect(costOf(ledger, { input: 1.25, output: 10 })).toBe(0.0045);
});

test("the cost is unknown when the price is, when nothing was reported, and when not all was", () => {
  const price = { input: 1.25, output: 10 };
  const ledger = openLedger({ maxTurns: 10 });
  expect(costOf(ledger, price)).toBeUndefined();
  count(ledger, usage(1_000, 100));
  expect(costOf(ledger, undefined)).toBeUndefined();
  expect(costOf(ledger, price)).toBe(0.00225);
  count(ledger, usage(1_000, null));
  expect(costOf(ledger, price)).toBeUndefined();
});

test("a cost limit counts cached input at its own price, and what is not reported as an estimate", () => {
  const ledger = openLedger({ maxTurns: 10, maxCostUsd: 0.01 });
  count(ledger, { input: 1000, cached: 800, output: 100, reasoning: null });
  expect(ledger.spentUsd).toBeCloseTo(0.0018, 9);
  count(ledger, usage(null, 200));
  expect(ledger.spentUsd).toBeCloseTo(0.0018 + 0.004, 9);
  expect(limitReached(ledger)).toBeUndefined();
  count(ledger, usage(1500, 200));
  expect(limitReached(ledger)).toMatchObject({
    code: "max_cost",
    message: "Cost limit reached: $0.0108 of $0.01 (--max-cost)",
    retryable: true,
  });
});

test("a cost limit is reached when the next request alone would exceed it", () => {
  const ledger = openLedger({ maxTurns: 10, maxCostUsd: 1 });
  count(ledger, { input: 1_000_000, cached: 800_000, output: 10_000, reasoning: null });
  expect(ledger.spentUsd).toBeCloseTo(0.9, 9);
  expect(limitReached(ledger)?.message).toBe(
    "Cost limit reached: $0.9 of $1 is spent, and the next request costs at least $0.5052 (--max-cost)",
  );
});

test("an attempt that broke counts for the limits, and not as usage", () => {
  const ledger = openLedger({ maxTurns: 10, maxTokens: 100, maxCostUsd: 1 });
  spendLost(ledger, { input: 60, output: 50 }, price);
  expect(limitReached(ledger)).toMatchObject({ code: "max_tokens" });
  expect(ledger.spentUsd).toBeCloseTo(0.00062, 9);
  expect([ledger.usage, ledger.unreported]).toEqual([noUsage, 0]);
});

test("a reply may be as long as the rest of the money lasts", () => {
  expect(affordableOutput(openLedger({ maxTurns: 10 }), price)).toBeUndefined();
  const ledger = openLedger({ maxTurns: 10, maxCostUsd: 0.1 });
  expect(affordableOutput(ledger, undefined)).toBeUndefined();
  expect(affordableOutput(ledger, { input: 1, output: 0 })).toBeUndefined();
  expect(affordableOutput(ledger, price)).toBe(10_016);
  count(ledger, usage(10_000, 1000));
  expect(affordableOutput(ledger, price)).toBe(6_450);
});
