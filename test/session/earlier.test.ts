import { Database as Sqlite } from "bun:sqlite";
import { expect, test } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { openStore } from "../../lib/session/store.ts";
import { makePlace } from "../support/place.ts";

test("a database of the first version keeps its sessions, and all of it is found", async () => {
  await using place = makePlace();
  const path = join(place.home, "data/koda.db");
  mkdirSync(dirname(path));
  {
    using db = new Sqlite(path, { create: true });
    db.run(readFileSync("test/recordings/database-1.sql", "utf8"));
  }
  await using store = openStore(path);
  const [info] = store.list();
  expect(info).toMatchObject({ id: "old", title: "Find the needle", turns: 1, costUsd: null, ended: "limit" });
  expect(info && store.outcome(info)).toBe("limit");
  const found = async (query: string) => store.search(query, 10).matches.map(({ seq, kind }) => `${seq} ${kind}`);
  expect((await found("needle")).sort()).toEqual(["2 user", "3 output"]);
  expect(await found("settings")).toEqual(["2 user"]);
  expect(await found("据库")).toEqual(["3 assistant"]);
  expect(store.items("old").map(({ kind }) => kind)).toEqual(["turn_start", "user", "assistant", "turn_end"]);
});
