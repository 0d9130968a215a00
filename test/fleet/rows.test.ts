import { expect, test } from "bun:test";
import type { Rows } from "../../lib/fleet/store/database.ts";
import { insertMany } from "../../lib/fleet/store/rows.ts";

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
