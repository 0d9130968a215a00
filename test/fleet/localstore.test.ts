import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { openLocalFleet } from "../../lib/fleet/local/local.ts";
import { SqliteFleet } from "../../lib/fleet/local/sqlite.ts";
import { openDatabase } from "../../lib/session/schema.ts";
import { thisProcess } from "../../lib/session/process.ts";
import { describeFleetStore } from "../support/fleetsuite.ts";
import { defaults, isClaim, task, worker } from "../support/fleettasks.ts";
import { makePlace } from "../support/place.ts";

describeFleetStore("a store in SQLite", 12, async () => {
  const place = makePlace();
  const path = join(place.home, "koda.db");
  return {
    leaseMs: 30_000,
    open: async () => openLocalFleet(path),
    silence: async (batch, key) => {
      using database = new Database(path);
      database.run("PRAGMA busy_timeout = 5000");
      database.run("UPDATE batch_attempt SET started_at = 0 WHERE batch = ? AND key = ?", [batch, key]);
      database.run("UPDATE batch_worker SET seen_at = 0");
    },
    hasten: async (batch) => {
      using database = new Database(path);
      database.run("PRAGMA busy_timeout = 5000");
      database.run("UPDATE batch_job SET not_before = 0 WHERE batch = ?", [batch]);
    },
    lapse: async (batch, key) => {
      using database = new Database(path);
      database.run("PRAGMA busy_timeout = 5000");
      database.run("UPDATE batch_job SET expires = 0 WHERE batch = ? AND key = ?", [batch, key]);
    },
    [Symbol.asyncDispose]: async () => place[Symbol.asyncDispose](),
  };
});

test("a worker whose machine was asleep for longer than its lease does not take its own task for lost", async () => {
  await using place = makePlace();
  const path = join(place.home, "koda.db");
  await using store = openLocalFleet(path);
  await store.submit("b", defaults, [task("a")]);
  const own = worker();
  const claim = await store.claim(own, "b");
  if (!isClaim(claim)) throw new Error("nothing to claim");
  using database = new Database(path);
  database.run("UPDATE batch_job SET expires = 0");
  // It looks for another task before its next heartbeat.
  expect(await store.claim(own, "b")).toEqual({ isOver: false });
  expect(await store.keep(own, new Map([[claim, { costUsd: 0, tokens: 0 }]]))).toEqual(new Map([[claim, "held"]]));
});

test("a cancelled batch does not wait for a worker that is dead", async () => {
  await using place = makePlace();
  await using store = openLocalFleet(join(place.home, "koda.db"));
  await store.submit("b", defaults, [task("a"), task("b")]);
  const dead = Bun.spawn(["true"]);
  await dead.exited;
  await store.claim(worker(), "b");
  await store.claim({ ...worker(), ...thisProcess(), pid: dead.pid, started: "" }, "b");
  expect(await store.cancel("b")).toBe(2);
  expect(await store.overview("b")).toMatchObject({ state: "cancelled", counts: { cancelled: 1, running: 1 } });
});

test("an error after which SQLite itself ends the transaction is the one that is told", async () => {
  await using place = makePlace();
  await using fleet = new SqliteFleet(openDatabase(join(place.home, "koda.db")));
  const insert = "INSERT OR ROLLBACK INTO batch_group (name, paused_until) VALUES ('a', 0)";
  const twice = fleet.write(async (rows) => [await rows.all(insert), await rows.all(insert)]);
  await expect(twice).rejects.toThrow("UNIQUE constraint failed");
  expect(await fleet.all("SELECT * FROM batch_group")).toEqual([]);
});
