import { expect, test } from "bun:test";
import { assert, property, string, uniqueArray } from "fast-check";
import { queueNameOf } from "../../lib/fleet/postgres/bossnames.ts";

test("a queue is named for its batch and its labels, in any order", () => {
  expect(queueNameOf("b1", [])).toBe("b1");
  expect(queueNameOf("b1", ["large", "gpu"])).toBe("b1/gpu/large");
  expect(queueNameOf("b1", ["arm 64", "ü"])).toBe("b1/arm.2064/.c3.bc");
});

test("two sets of labels never share a queue, and every name is one that pg-boss takes", () => {
  const labels = uniqueArray(string({ minLength: 1, unit: "grapheme" }), { maxLength: 4 });
  const holds = property(labels, labels, (one, other) => {
    const [a, b] = [queueNameOf("b", one), queueNameOf("b", other)];
    expect(a).toMatch(/^[\w.\-/]+$/);
    expect(a === b).toBe(Bun.deepEquals(one.toSorted(), other.toSorted()));
  });
  assert(holds, { numRuns: 500 });
});
