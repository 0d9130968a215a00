import { SQL } from "bun";
import { fromBunSql, PgBoss } from "pg-boss";
import { openRemoteFleet } from "../../lib/fleet/remote.ts";
import { describeFleetStore } from "../support/fleetsuite.ts";
import { missingPostgres, startPostgres } from "../support/postgres.ts";

if (missingPostgres === undefined)
  describeFleetStore("a store in PostgreSQL", async () => {
    const server = await startPostgres();
    const url = await server.create();
    const sql = new SQL(url, { max: 1 });
    return {
      leaseMs: 30_000,
      open: async () => await openRemoteFleet(url, { role: "worker", note: () => {} }),
      expire: async (batch, key) => {
        await sql`UPDATE koda_boss.job SET heartbeat_on = now() - interval '1 hour'
                  WHERE name = ${batch} AND data->>'key' = ${key}`;
        // As if the last look at it were long ago.
        await sql`UPDATE koda_boss.queue SET monitor_on = NULL, monitor_claim_on = NULL WHERE name = ${batch}`;
        const boss = new PgBoss({ db: fromBunSql(sql), schema: "koda_boss", supervise: false, schedule: false });
        await boss.supervise(batch);
      },
      [Symbol.asyncDispose]: async () => {
        await sql.close();
        await server[Symbol.asyncDispose]();
      },
    };
  });
