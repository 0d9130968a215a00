import { expect, test } from "bun:test";
import { join } from "node:path";
import { LocalQueue } from "../../lib/fleet/local/localqueue.ts";
import { SqliteFleet } from "../../lib/fleet/local/sqlite.ts";
import type { FleetDatabase, Rows } from "../../lib/fleet/store/database.ts";
import { insertMany } from "../../lib/fleet/store/rows.ts";
import { SqlStore } from "../../lib/fleet/store/sqlstore.ts";
import { openDatabase } from "../../lib/session/schema.ts";
import { defaults, exit, isClaim, task, worker } from "../support/fleettasks.ts";
import { makePlace } from "../support/place.ts";

test("rows with long texts are inserted before there are many of them", async () => {
  const statements: number[] = [];
  let made = 0;
  let mostHeld = 0;
  const rows: Rows = {
    async all(_, values = []) {
      statements.push(values.length / 2);
      mostHeld = Math.max(mostHeld, made - statements.reduce((sum, each) => sum + each, 0) + values.length / 2);
      return [];
    },
  };
  const prompt = "x".repeat(1_000_000);
  const tuples = Iterator.from(Array.from({ length: 12 }, (_, key) => key)).map((key) => {
    made += 1;
    return [key, prompt];
  });
  await insertMany(rows, { table: "t", columns: ["key", "prompt"] }, tuples);
  expect(statements).toEqual([5, 5, 2]);
  expect(mostHeld).toBe(5);
});

/** Notes the most values that a statement has. */
function counting(database: FleetDatabase): FleetDatabase & { most: number } {
  const countingRows = (rows: Rows): Rows => ({
    async all(sql, values = []) {
      counted.most = Math.max(counted.most, values.length);
      return await rows.all(sql, values);
    },
  });
  const counted = {
    ...countingRows(database),
    most: 0,
    write: <T>(steps: (rows: Rows) => Promise<T>) => database.write((rows) => steps(countingRows(rows))),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
  return counted;
}

test("no statement grows with the batch: PostgreSQL takes no more than 65,535 values", async () => {
  await using place = makePlace();
  const database = counting(new SqliteFleet(openDatabase(join(place.home, "koda.db"))));
  await using store = new SqlStore(database, new LocalQueue(database));
  const keys = Array.from({ length: 6_000 }, (_, at) => `t${at}`);
  const after = keys.map((key, at) => task(`after${at}`, { after: [key, "first"] }));
  await store.submit("b", defaults, [task("first"), ...keys.map((key) => task(key)), ...after]);
  const claim = await store.claim(worker(), "b");
  if (!isClaim(claim)) throw new Error("nothing to claim");
  // Skips those after it.
  await store.end(claim, exit(8));
  expect(await store.retry("b", { outcomes: ["failed"] })).toBe(6_001);
  await store.cancel("b");
  expect(await store.retry("b", { outcomes: ["cancelled"] })).toBe(12_001);
  expect(database.most).toBeLessThan(6_000);
});
