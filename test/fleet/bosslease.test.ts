import { expect, test } from "bun:test";
import { SQL } from "bun";
import { openRemoteFleet } from "../../lib/fleet/postgres/remote.ts";
import { defaults, isClaim, task, worker } from "../support/fleettasks.ts";
import { missingPostgres, startPostgres } from "../support/postgres.ts";

const why = missingPostgres === undefined ? "" : ` (${missingPostgres})`;
const leaseMs = 10_000;
/** As if so much of the leases were over. */
const goneMs = 7_000;

test.skipIf(missingPostgres !== undefined)(
  `the task of a dead worker is another's within ten seconds of its lease, and that of a live one stays${why}`,
  async () => {
    await using server = await startPostgres();
    const url = await server.create();
    await using store = await openRemoteFleet(url, { role: "worker", note: () => {} });
    await store.submit("b", { ...defaults, leaseMs }, [task("dead"), task("live")]);
    const [dead, alive] = [worker(), worker()];
    const lost = await store.claim(dead, "b");
    const live = await store.claim(alive, "b");
    if (!isClaim(lost) || !isClaim(live)) throw new Error("no claim");

    await using sql = new SQL(url, { max: 1 });
    const started = performance.now() - goneMs;
    await sql`UPDATE koda_boss.job SET heartbeat_on = heartbeat_on - ${goneMs} * interval '1 millisecond'`;
    let again = await store.claim(alive, "b");
    for (; !isClaim(again); again = await store.claim(alive, "b")) {
      expect(await store.keep(alive, new Map([[live, { costUsd: 0, tokens: 0 }]]))).toEqual(new Map([[live, "held"]]));
      await Bun.sleep(500);
    }
    const ms = performance.now() - started;
    expect(again).toMatchObject({ attempt: 2, resumes: true, task: { key: "dead" } });
    expect(ms).toBeGreaterThan(leaseMs - 1000);
    expect(ms).toBeLessThan(leaseMs + 11_000);
    expect(await store.keep(dead, new Map([[lost, { costUsd: 0, tokens: 0 }]]))).toEqual(new Map([[lost, "lost"]]));
  },
  60_000,
);
