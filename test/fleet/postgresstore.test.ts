import { test } from "bun:test";
import { SQL } from "bun";
import { fromBunSql, PgBoss } from "pg-boss";
import { openRemoteFleet } from "../../lib/fleet/postgres/remote.ts";
import { describeFleetStore } from "../support/fleetsuite.ts";
import { missingPostgres, startPostgres } from "../support/postgres.ts";

if (missingPostgres !== undefined) test.skip(`a store in PostgreSQL (${missingPostgres})`, () => {});
else
  describeFleetStore("a store in PostgreSQL", 3, async () => {
    const server = await startPostgres();
    const url = await server.create();
    const sql = new SQL(url, { max: 1 });
    return {
      leaseMs: 30_000,
      open: async () => await openRemoteFleet(url, { role: "worker", note: () => {} }),
      silence: async (batch, key) => {
        await sql`UPDATE koda.batch_attempt SET started_at = 0 WHERE batch = ${batch} AND key = ${key}`;
        await sql`UPDATE koda.batch_worker SET seen_at = 0`;
      },
      hasten: async (batch) => {
        await sql`UPDATE koda_boss.job SET start_after = now() - interval '1 second'
                  WHERE name IN (SELECT name FROM koda.batch_queue WHERE batch = ${batch})`;
      },
      lapse: async (batch, key) => {
        const boss = new PgBoss({ db: fromBunSql(sql), schema: "koda_boss", supervise: false, schedule: false });
        for (const { name } of await sql<
          { name: string }[]
        >`SELECT name FROM koda.batch_queue WHERE batch = ${batch}`) {
          await sql`UPDATE koda_boss.job SET heartbeat_on = now() - interval '1 hour'
                    WHERE name = ${name} AND data->>'key' = ${key}`;
          // As if the last look at it were long ago.
          await sql`UPDATE koda_boss.queue SET monitor_on = NULL, monitor_claim_on = NULL WHERE name = ${name}`;
          await boss.supervise(name);
        }
      },
      [Symbol.asyncDispose]: async () => {
        await sql.close();
        await server[Symbol.asyncDispose]();
      },
    };
  });
