import { expect, test } from "bun:test";
import { KeyedLocks } from "../../lib/async/keyedlocks.ts";

const { signal } = new AbortController();

test("one holder of a key at a time, and others at the same time", async () => {
  const locks = new KeyedLocks();
  const order: string[] = [];
  const a = await locks.hold(["a"], signal);
  const again = async () => {
    using _ = await locks.hold(["a"], signal);
    order.push("a again");
  };
  const second = again();
  using _ = await locks.hold(["b"], signal);
  order.push("b");
  a[Symbol.dispose]();
  await second;
  expect(order).toEqual(["b", "a again"]);
});

test("holders of several keys do not wait for each other in a circle", async () => {
  const locks = new KeyedLocks();
  const ended = await Promise.all(
    [
      ["a", "b"],
      ["b", "a"],
      ["a", "c"],
      ["c", "b"],
    ].map(async (keys) => {
      using _ = await locks.hold(keys, signal);
      await Bun.sleep(0);
      return true;
    }),
  );
  expect(ended).toEqual([true, true, true, true]);
});

test("whoever stops waiting is passed over, and those behind still wait for the holder", async () => {
  const locks = new KeyedLocks();
  const holder = await locks.hold(["a"], signal);
  const stop = new AbortController();
  const impatient = locks.hold(["a"], stop.signal);
  let isFree = false;
  const patient = locks.hold(["a"], signal).then(() => (isFree = true));
  stop.abort(new Error("no longer wanted"));
  expect(impatient).rejects.toThrow("no longer wanted");
  await Bun.sleep(0);
  expect(isFree).toBe(false);
  holder[Symbol.dispose]();
  expect(await patient).toBe(true);
});

test("whoever comes when the last in line has stopped waiting still waits for the holder", async () => {
  const locks = new KeyedLocks();
  const holder = await locks.hold(["a"], signal);
  const stop = new AbortController();
  const impatient = locks.hold(["a"], stop.signal);
  stop.abort(new Error("no longer wanted"));
  expect(impatient).rejects.toThrow("no longer wanted");
  await Bun.sleep(0);
  let isFree = false;
  const late = locks.hold(["a"], signal).then(() => (isFree = true));
  await Bun.sleep(0);
  expect(isFree).toBe(false);
  holder[Symbol.dispose]();
  expect(await late).toBe(true);
});
