import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { makeShelf, start } from "../support/sessions.ts";
import { assertAccepted, assertSame, type Step, stateOf, Walk } from "../support/session-walk.ts";

/** `KODA_SEQUENCES=10000` for more. */
const sequences = Number(process.env.KODA_SEQUENCES ?? 1_000);

const turn: fc.Arbitrary<Step> = fc.record({
  do: fc.constant("turn" as const),
  calls: fc.integer({ min: 0, max: 3 }),
  answered: fc.integer({ min: 0, max: 7 }),
  steered: fc.boolean(),
  end: fc.constantFrom("complete", "complete", "cancelled", "limit", "error", "none"),
});
const plain = (...steps: Extract<Step["do"], string>[]) =>
  fc.constantFrom(...steps).map((name) => ({ do: name }) as Step);
const step = fc.oneof(
  { weight: 6, arbitrary: turn },
  { weight: 2, arbitrary: plain("todo", "move", "trim", "fork") },
  { weight: 2, arbitrary: plain("resume", "crash") },
  { weight: 2, arbitrary: fc.integer({ min: 100, max: 2_000 }).map((window): Step => ({ do: "compact", window })) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 4 }).map((turns): Step => ({ do: "rollback", turns })) },
);

test("whatever happens to a session, its log rebuilds to the state that it had", async () => {
  await using shelf = makeShelf();
  const { store, path } = shelf;
  using aside = new Database(path);
  const property = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
    const walk = new Walk(store, { aside, session: store.create(start) });
    for (const next of steps) {
      await walk.take(next);
      assertAccepted(walk.session.history());
    }
    const before = stateOf(walk.session);
    await walk.take({ do: "crash" });
    assertSame("the log", stateOf(walk.session), before);
    walk.session.close();
  });
  await fc.assert(property, { numRuns: sequences });
  const lost =
    "SELECT id FROM session WHERE length <> (SELECT count(*) FROM item WHERE session = id AND seq <= length)";
  expect(aside.query(lost).all()).toEqual([]);
}, 600_000);
