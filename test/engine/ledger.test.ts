import { expect, test } from "bun:test";
import {
  affordableOutput,
  costOf,
  foresee,
  isLastRequest,
  type Ledger,
  limitReached,
  openLedger,
  priced,
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
  for (const [price, cost] of [
    [{ input: 1.25, cached: 0.125, output: 10 }, 0.0036],
    [{ input: 1.25, output: 10 }, 0.0045],
  ] as const) {
    const ledger = openLedger({ maxTurns: 10 });
    count(ledger, { input: 1_000, cached: 800, output: 100, reasoning: null }, price);
    count(ledger, usage(1_000, 100), price);
    expect(costOf(ledger, price)).toBe(cost);
  }
});

test("tokens that were written to the provider's cache have a price of their own", () => {
  const ledger = openLedger({ maxTurns: 10, maxCostUsd: 1 });
  const claude = { input: 3, cached: 0.3, written: 3.75, output: 15 };
  count(ledger, { input: 1_000, cached: 500, written: 300, output: 100, reasoning: null }, claude);
  expect(costOf(ledger, claude)).toBe(0.003375);
  expect(ledger.spentUsd).toBeCloseTo(0.003375, 9);
});

test("cached input that a server counts beside the rest makes no cost smaller", () => {
  const ledger = openLedger({ maxTurns: 10, maxCostUsd: 1 });
  count(ledger, { input: 200, cached: 10_000, output: 100, reasoning: null }, price);
  expect(costOf(ledger, price)).toBe(0.0064);
  expect(ledger.spentUsd).toBeCloseTo(0.0064, 9);
});

test("the cost is unknown when the price is, when nothing was reported, and when not all was", () => {
  const price = { input: 1.25, output: 10 };
  const ledger = openLedger({ maxTurns: 10 });
  expect(costOf(ledger, price)).toBeUndefined();
  count(ledger, usage(1_000, 100), price);
  expect(costOf(ledger, undefined)).toBeUndefined();
  expect(costOf(ledger, price)).toBe(0.00225);
  count(ledger, usage(1_000, null), price);
  expect(costOf(ledger, price)).toBeUndefined();
});

test("the cost of a run that had a model without a price stays unknown", () => {
  const ledger = openLedger({ maxTurns: 10 });
  spend(ledger, { usage: usage(1_000, 100), estimate: () => ({ input: 0, output: 0 }), price: undefined });
  count(ledger, usage(1_000, 100));
  expect(costOf(ledger, price)).toBeUndefined();
});

const tiered: Price = {
  ...price,
  tiers: [
    { above: 1_000, input: 4, cached: 1, output: 15 },
    { above: 10_000, input: 8, output: 30 },
  ],
};

test("a request above a tier's threshold costs what the tier says, all of it, and others do not", () => {
  const costs = (...inputs: number[]) => {
    const ledger = openLedger({ maxTurns: 10 });
    for (const input of inputs) count(ledger, { input, cached: 500, output: 100, reasoning: null }, tiered);
    return costOf(ledger, tiered);
  };
  expect(costs(1_000)).toBe(0.00225);
  expect(costs(1_001)).toBe(0.004004);
  expect(costs(10_001)).toBe(0.083008);
  expect(costs(1_000, 1_000, 1_000)).toBe(0.00675);
  expect(costs(1_000, 1_001)).toBe(0.006254);
});

test("a cost limit foresees the tier of the next request, and pays for a reply to a larger one", () => {
  const ledger = openLedger({ maxTurns: 10, maxCostUsd: 0.1 });
  foresee(ledger, 1_001, tiered);
  expect(ledger.nextUsd).toBeCloseTo((1_001 * 1 + 16 * 15) / 1e6, 9);
  foresee(ledger, 400, tiered);
  expect(affordableOutput(ledger, tiered)).toBe(9_980);
  // Results of calls may lift the request over the threshold.
  foresee(ledger, 600, tiered);
  expect(affordableOutput(ledger, tiered)).toBe(6_652);
});

test("an item of the log has the cost of its own request", () => {
  expect(priced({ usage: usage(1_001, 100) }, tiered)).toMatchObject({ costUsd: 0.005504 });
  expect(priced({ usage: usage(1_001, null) }, tiered)).toEqual({ usage: usage(1_001, null) });
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
  expect([ledger.usage, ledger.unpriced]).toEqual([noUsage, 0]);
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
