import { expect, test } from "bun:test";
import { isLastRequest, limitReached, openLedger, spend } from "../../lib/engine/ledger.ts";
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
