import { expect, test } from "bun:test";
import { Slots } from "../../lib/async/slots.ts";

const { signal } = new AbortController();

test("slots are given in the order in which they were asked for", async () => {
  const slots = new Slots(1);
  const first = await slots.take(signal);
  const order: number[] = [];
  const others = [2, 3].map(async (number) => {
    using _ = await slots.take(signal);
    order.push(number);
  });
  expect(order).toEqual([]);
  first[Symbol.dispose]();
  await Promise.all(others);
  expect(order).toEqual([2, 3]);
});

test("whoever stops waiting leaves the slot to the next", async () => {
  const slots = new Slots(1);
  const first = await slots.take(signal);
  const stop = new AbortController();
  const [impatient, patient] = [slots.take(stop.signal), slots.take(signal)];
  const reason = new Error("no longer wanted");
  stop.abort(reason);
  expect(impatient).rejects.toBe(reason);
  first[Symbol.dispose]();
  await patient;
});

test("a slot that comes at the moment of the abort is not lost", async () => {
  const slots = new Slots(1);
  const first = await slots.take(signal);
  const stop = new AbortController();
  const late = slots.take(stop.signal);
  first[Symbol.dispose]();
  stop.abort(new Error("too late"));
  await late.then((slot) => slot[Symbol.dispose]()).catch(() => undefined);
  await slots.take(signal);
});
