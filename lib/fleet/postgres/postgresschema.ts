import { KodaError } from "../../errors.ts";
import { batchTables, type ColumnTypes, unpricedColumn } from "../../session/batchtables.ts";
import type { FleetDatabase, Rows } from "../store/database.ts";
import type { PostgresAddress } from "./postgresaddress.ts";
import { oldestPostgres, tooOld } from "./postgreserror.ts";
import { first } from "../store/rows.ts";

const postgresTypes: ColumnTypes = { real: "DOUBLE PRECISION", bytes: "BYTEA", end: "" };

/**
 * The queues of pg-boss that a batch has, one for each set of labels; `closed_at` is when the batch was closed.
 * And the last transaction of each client, by which it can tell if it was committed.
 */
const ownTables = `
  CREATE TABLE batch_queue (
    batch TEXT NOT NULL,
    name TEXT NOT NULL PRIMARY KEY,
    labels TEXT NOT NULL,
    closed_at DOUBLE PRECISION
  );
  CREATE INDEX batch_queue_batch ON batch_queue (batch);

  CREATE TABLE batch_commit (
    mark TEXT NOT NULL PRIMARY KEY,
    id TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL
  );`;

/** Each leads from the version before to the next; none is ever changed once it was in a release. */
const migrations: readonly string[] = [batchTables(postgresTypes) + ownTables, unpricedColumn];

/** Any number of processes may do this at once. Throws `store` when the server or its tables do not fit. */
export async function preparePostgres(database: FleetDatabase, address: PostgresAddress): Promise<void> {
  await assertNewEnough(database, address);
  if ((await versionOf(database, address)) === migrations.length) return;
  await database.write(async (rows) => {
    // The number stands for "koda"; it is held until the transaction ends.
    await rows.all("SELECT pg_advisory_xact_lock(1802462305)");
    const version = await versionOf(rows, address);
    if (!(await hasSchema(rows))) await rows.all("CREATE SCHEMA koda");
    for (const migration of migrations.slice(version)) await rows.all(migration);
    await rows.all("CREATE TABLE IF NOT EXISTS koda.schema_version (version INTEGER NOT NULL)");
    await rows.all("DELETE FROM koda.schema_version");
    await rows.all("INSERT INTO koda.schema_version VALUES ($1)", [migrations.length]);
  });
}

async function assertNewEnough(database: Rows, { place }: PostgresAddress): Promise<void> {
  const sql = "SELECT current_setting('server_version') AS shown, current_setting('server_version_num') AS number";
  const found = await first<{ shown: string; number: string }>(database, sql);
  if (Number(found?.number) >= oldestPostgres * 10_000) return;
  throw new KodaError("store", `Cannot use ${place}: ${tooOld(found?.shown ?? "unknown")}.`);
}

/**
 * 0 where koda has not been. Asks the catalog's tables: its functions may answer from before another process's
 * transaction, even after waiting for that.
 */
async function versionOf(rows: Rows, { place }: PostgresAddress): Promise<number> {
  const table = "SELECT 1 FROM pg_tables WHERE schemaname = 'koda' AND tablename = 'schema_version'";
  if ((await first(rows, table)) === undefined) return 0;
  const { version = 0 } = (await first<{ version: number }>(rows, "SELECT version FROM koda.schema_version")) ?? {};
  if (version <= migrations.length) return version;
  const versions = `schema ${version}, this one knows ${migrations.length}`;
  throw new KodaError("store", `Cannot use ${place}: its tables were made by a newer koda (${versions}). Update koda.`);
}

/** `CREATE SCHEMA IF NOT EXISTS` needs the right to create one even where there is one. */
async function hasSchema(rows: Rows): Promise<boolean> {
  return (await first(rows, "SELECT 1 FROM pg_namespace WHERE nspname = 'koda'")) !== undefined;
}
