import { expect, test } from "bun:test";
import { join } from "node:path";
import { openStore } from "../../lib/session/store.ts";
import type { CrowdReport } from "../support/crowd-program.ts";
import { makePlace } from "../support/place.ts";

/** KODA_SEQUENCES=15 tries more schedules, and KODA_SEED begins with another one. */
const count = Number(process.env.KODA_SEQUENCES ?? 6);
const first = Number(process.env.KODA_SEED ?? 1);

// In a process of its own, which adopts orphans as koda does.
test("eight conversations in one process have nothing to do with each other", async () => {
  await using place = makePlace();
  const databases = ["a.db", "b.db"].map((name) => join(place.home, name));
  const program = join(import.meta.dir, "../support/crowd-program.ts");
  const child = Bun.spawn([process.execPath, program, String(first), String(count), ...databases], {
    env: place.env,
    stdout: "pipe",
    stderr: "inherit",
  });
  const { problems, sessions }: CrowdReport = JSON.parse(await child.stdout.text());
  expect(problems).toEqual([]);
  expect(sessions).toHaveLength(8 * count);
  for (const database of databases) {
    await using store = openStore(database);
    for (const { session, token, items } of sessions.filter((one) => one.database === database)) {
      const found = store.items(session);
      expect(found).toHaveLength(items);
      expect(JSON.stringify(found)).toContain(`second of ${token}`);
    }
  }
}, 60_000);
