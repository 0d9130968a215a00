import { homedir } from "node:os";
import { databaseFile } from "../lib/config/paths.ts";
import type { FleetOptions } from "../lib/fleet/open.ts";
import type { FleetStore } from "../lib/fleet/store.ts";
import { openNote } from "./note.ts";

type StoreOption = { readonly store?: string };

/** The store of --store or KODA_STORE, else koda's own database. */
export async function openBatchStore(options: StoreOption, role: FleetOptions["role"] = "client"): Promise<FleetStore> {
  const { openFleet } = await import("../lib/fleet/open.ts");
  const path = databaseFile({ env: process.env, home: homedir() });
  return await openFleet({ url: storeUrl(options), path, role, note: openNote() });
}

function storeUrl({ store }: StoreOption): string | undefined {
  return store ?? (process.env["KODA_STORE"] || undefined);
}

/** ` --store URL` where a command line needs it to find the batch again; never with a password. */
export function storeWords(options: StoreOption): string {
  return options.store === undefined ? "" : " --store …";
}
