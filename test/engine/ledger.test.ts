import { expect, test } from "bun:test";
import { costOf, isLastRequest, limitReached, openLedger, spend } from "../../lib/engine/ledger.ts";
import { addUsage, noUsage } from "../../lib/model/usage.ts";

const usage = (input: number | null, output: number | null) => ({ input, output, cached: null, reasoning: null });

test("what was never reported stays unknown", () => {
  expect(addUsage(noUsage, noUsage)).toEqual(noUsage);
  expect(addUsage(usage(3, null), usage(4, 2))).toEqual(usage(7, 2));
});

test("a token limit counts input and output, and cached tokens once", () => {
  const ledger = openLedger({ maxTurns: 10, maxTokens: 100 });
  spend(ledger, { input: 60, cached: 50, output: 20, reasoning: 10 }, 0);
  expect(limitReached(ledger)).toBeUndefined();
  spend(ledger, usage(20, 0), 0);
  expect(limitReached(ledger)).toMatchObject({ code: "max_tokens" });
});

test("a token limit holds for a provider that reports nothing", () => {
  const ledger = openLedger({ maxTurns: 10, maxTokens: 100 });
  spend(ledger, usage(null, null), 101);
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
  spend(ledger, { input: 1_000, cached: 800, output: 100, reasoning: null }, 0);
  spend(ledger, usage(1_000, 100), 0);
  expect(costOf(ledger, { input: 1.25, cached: 0.125, output: 10 })).toBe(0.0036);
  expect(costOf(ledger, { input: 1.25, output: 10 })).toBe(0.0045);
});

test("the cost is unknown when the price is, when nothing was reported, and when not all was", () => {
  const price = { input: 1.25, output: 10 };
  const ledger = openLedger({ maxTurns: 10 });
  expect(costOf(ledger, price)).toBeUndefined();
  spend(ledger, usage(1_000, 100), 0);
  expect(costOf(ledger, undefined)).toBeUndefined();
  expect(costOf(ledger, price)).toBe(0.00225);
  spend(ledger, usage(1_000, null), 0);
  expect(costOf(ledger, price)).toBeUndefined();
});
