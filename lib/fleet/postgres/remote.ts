import { BossQueue } from "./bossqueue.ts";
import { Connections } from "./connections.ts";
import { Outages } from "./outage.ts";
import { PostgresFleet } from "./postgres.ts";
import { parsePostgresUrl } from "./postgresaddress.ts";
import { preparePostgres } from "./postgresschema.ts";
import { SqlStore } from "../store/sqlstore.ts";
import type { FleetStore } from "../store.ts";

const patienceMs = { worker: 180_000, client: 10_000 } as const;

export type RemoteOptions = {
  role: "worker" | "client";
  note: (text: string) => void;
  /** The most connections for koda's own tables, to which comes one for pg-boss. */
  connections?: number;
  silenceMs?: number;
};

/** The batches of a PostgreSQL database, for workers on any machines. */
export async function openRemoteFleet(
  url: string,
  { role, note, connections = 2, silenceMs }: RemoteOptions,
): Promise<FleetStore> {
  const address = parsePostgresUrl(url);
  const connect = (most: number) => new Connections(address, { most, ...(silenceMs !== undefined && { silenceMs }) });
  const open = (ms: number) => new PostgresFleet(own, new Outages(address, { ms, note }));
  const own = connect(connections);
  try {
    // An address that is wrong is said at once; a server that was there is waited for.
    await preparePostgres(open(0), address);
  } catch (error) {
    await own[Symbol.asyncDispose]();
    throw error;
  }
  const database = open(patienceMs[role]);
  const queue = new BossQueue(database, { connections: connect(1), supervises: role === "worker", note });
  return new SqlStore(database, queue);
}
