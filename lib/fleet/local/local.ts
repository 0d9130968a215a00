import { openDatabase } from "../../session/schema.ts";
import { LocalQueue } from "./localqueue.ts";
import { SqliteFleet } from "./sqlite.ts";
import { SqlStore } from "../store/sqlstore.ts";
import type { FleetStore } from "../store.ts";

/** The batches of this machine, in koda's own database, for any number of workers. */
export function openLocalFleet(path: string): FleetStore {
  const database = new SqliteFleet(openDatabase(path));
  return new SqlStore(database, new LocalQueue(database));
}
