import { expect, test } from "bun:test";
import { LoopGuard } from "../../lib/engine/loop.ts";

test("the third identical call gets a word, the fourth ends it", () => {
  const guard = new LoopGuard();
  const seen = Array.from({ length: 4 }, () => observe(guard, "Read", { path: "a" }, "missing"));
  expect(seen).toEqual(["new", "new", "repeated", "stuck"]);
});

test("another result is progress", () => {
  const guard = new LoopGuard();
  const seen = Array.from({ length: 30 }, (_, n) => observe(guard, "Bash", { command: "make" }, `${n} tests pass`));
  expect(new Set(seen)).toEqual(new Set(["new"]));
});

test("arguments count as a whole, however long they are", () => {
  const guard = new LoopGuard();
  const long = "x".repeat(100_000);
  const seen = Array.from({ length: 6 }, (_, n) => observe(guard, "Write", { path: "a", content: long + n }, "ok"));
  expect(new Set(seen)).toEqual(new Set(["new"]));
});

test("the order of an object's keys makes no difference", () => {
  const guard = new LoopGuard();
  const read = (input: unknown) => observe(guard, "Read", input, "same");
  const [one, other] = [
    { b: [{ d: 1, c: 2 }], a: null },
    { a: null, b: [{ c: 2, d: 1 }] },
  ];
  expect([read(one), read(other), read(one)]).toEqual(["new", "new", "repeated"]);
  expect([read([1, 2]), read([2, 1]), read([1, 2])]).toEqual(["new", "new", "new"]);
});

test("calls that lie more than twenty apart are not a loop", () => {
  const guard = new LoopGuard();
  const seen: string[] = [];
  for (let round = 0; round < 5; round++) {
    seen.push(observe(guard, "Read", { path: "a" }, "same"));
    for (let n = 0; n < 20; n++) observe(guard, "Read", { path: `${round}-${n}` }, "other");
  }
  expect(seen).toEqual(["new", "new", "new", "new", "new"]);
});

test("the same call twice in one reply counts once", () => {
  const guard = new LoopGuard();
  const reply = () => [1, 2, 3, 4].map(() => guard.observe("Read", { path: "a" }, "missing"));
  const seen = [1, 2, 3, 4].map(() => (guard.beginReply(), reply()));
  expect(seen.map(([first]) => first)).toEqual(["new", "new", "repeated", "stuck"]);
  expect(new Set(seen.flatMap(([, ...others]) => others))).toEqual(new Set(["new"]));
});

/** A call in a reply of its own. */
function observe(guard: LoopGuard, ...call: Parameters<LoopGuard["observe"]>) {
  guard.beginReply();
  return guard.observe(...call);
}
