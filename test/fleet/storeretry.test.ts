import { expect, test } from "bun:test";
import { KodaError } from "../../lib/errors.ts";
import { StoreRetry } from "../../lib/fleet/work/storeretry.ts";

const stopped = new KodaError("sigterm", "Stopped by SIGTERM");
const away = () => Promise.reject(new KodaError("store", "Cannot reach the store"));
const options = { patienceMs: 60_000, graceMs: 60_000, onOutage: () => {} };

test("a worker that was told to stop long ago still gets its answers", async () => {
  const retry = new StoreRetry({ ...options, signal: AbortSignal.abort(stopped) });
  expect(await retry.ask(async () => await Promise.resolve("settled"))).toBe("settled");
});

test("it asks again for as long as its grace is", async () => {
  const retry = new StoreRetry({ ...options, signal: AbortSignal.abort(stopped) });
  let asked = 0;
  expect(await retry.ask(() => (++asked < 3 ? away() : Promise.resolve("settled")))).toBe("settled");
  const short = new StoreRetry({ ...options, graceMs: 0, signal: AbortSignal.abort(stopped) });
  await expect(short.ask(away)).rejects.toThrow("Cannot reach the store");
});

test("a store that does not answer is given up after the grace", async () => {
  const retry = new StoreRetry({ ...options, graceMs: 1, signal: AbortSignal.abort(stopped) });
  await expect(retry.ask(() => new Promise(() => {}))).rejects.toBe(stopped);
});
