import { expect, test } from "bun:test";
import { LoopGuard } from "../../lib/engine/loop.ts";

test("the third identical call gets a word, the fourth ends it", () => {
  const guard = new LoopGuard();
  const seen = Array.from({ length: 4 }, () => guard.observe("Read", { path: "a" }, "missing"));
  expect(seen).toEqual(["new", "new", "repeated", "stuck"]);
});

test("another result is progress", () => {
  const guard = new LoopGuard();
  const seen = Array.from({ length: 30 }, (_, n) => guard.observe("Bash", { command: "make" }, `${n} tests pass`));
  expect(new Set(seen)).toEqual(new Set(["new"]));
});

test("arguments count as a whole, however long they are", () => {
  const guard = new LoopGuard();
  const long = "x".repeat(100_000);
  const seen = Array.from({ length: 6 }, (_, n) => guard.observe("Write", { path: "a", content: long + n }, "ok"));
  expect(new Set(seen)).toEqual(new Set(["new"]));
});

test("the order of an object's keys makes no difference", () => {
  const guard = new LoopGuard();
  const observe = (input: unknown) => guard.observe("Read", input, "same");
  const [one, other] = [
    { b: [{ d: 1, c: 2 }], a: null },
    { a: null, b: [{ c: 2, d: 1 }] },
  ];
  expect([observe(one), observe(other), observe(one)]).toEqual(["new", "new", "repeated"]);
  expect([observe([1, 2]), observe([2, 1]), observe([1, 2])]).toEqual(["new", "new", "new"]);
});

test("calls that lie more than twenty apart are not a loop", () => {
  const guard = new LoopGuard();
  const seen: string[] = [];
  for (let round = 0; round < 5; round++) {
    seen.push(guard.observe("Read", { path: "a" }, "same"));
    for (let n = 0; n < 20; n++) guard.observe("Read", { path: `${round}-${n}` }, "other");
  }
  expect(seen).toEqual(["new", "new", "new", "new", "new"]);
});
