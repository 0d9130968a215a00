import { expect, test } from "bun:test";
import { scaled, withinTime } from "../../../lib/tools/search/limits.ts";

test.each([
  [200, 1_000_000, 200],
  [200, 128_000, 200],
  [200, 64_000, 100],
  [100, 32_000, 25],
  [100, 8_000, 20],
  [200, 1, 20],
])("of %i entries a window of %i tokens is shown %i", (entries, window, shown) => {
  expect(scaled(entries, window)).toBe(shown);
});

const never = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

test("a search that takes too long has no result", async () => {
  expect(await withinTime(never, { signal: new AbortController().signal, ms: 20 })).toBeUndefined();
});

test("an abort of the call is thrown, with its reason", async () => {
  const controller = new AbortController();
  const searching = withinTime(never, { signal: controller.signal });
  const reason = new Error("enough");
  controller.abort(reason);
  expect(await searching.catch((error) => error)).toBe(reason);
});

test("a search that fails is not taken for a slow one", async () => {
  const failing = withinTime(() => Promise.reject(new Error("broken")), { signal: new AbortController().signal });
  expect(await failing.catch((error) => error.message)).toBe("broken");
});
