import { Database } from "bun:sqlite";
import { join } from "node:path";
import { openLocalFleet } from "../../lib/fleet/local/local.ts";
import { describeFleetStore } from "../support/fleetsuite.ts";
import { makePlace } from "../support/place.ts";

describeFleetStore("a store in SQLite", 25, async () => {
  const place = makePlace();
  const path = join(place.home, "koda.db");
  return {
    leaseMs: 30_000,
    open: async () => openLocalFleet(path),
    expire: async (batch, key) => {
      using database = new Database(path);
      database.run("PRAGMA busy_timeout = 5000");
      database.run("UPDATE batch_attempt SET started_at = 0 WHERE batch = ? AND key = ?", [batch, key]);
      database.run("UPDATE batch_worker SET seen_at = 0");
      database.run("UPDATE batch_job SET expires = 0 WHERE batch = ? AND key = ?", [batch, key]);
    },
    [Symbol.asyncDispose]: async () => place[Symbol.asyncDispose](),
  };
});
