import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { databaseFile } from "../lib/config/paths.ts";
import type { FleetOptions } from "../lib/fleet/open.ts";
import type { FleetStore } from "../lib/fleet/store.ts";
import { inMemory } from "../lib/session/database.ts";
import { openNote } from "./note.ts";

type StoreOption = { readonly store?: string };

/** The store of --store or KODA_STORE, else koda's own database, for commands that add to it. */
export async function openBatchStore(options: StoreOption, role: FleetOptions["role"] = "client"): Promise<FleetStore> {
  return await open(options, role, databaseFile(user()));
}

/** The same for commands that look: without a database an empty one in memory is used, so that none is created. */
export async function openExistingBatches(options: StoreOption): Promise<FleetStore> {
  const path = databaseFile(user());
  return await open(options, "client", existsSync(path) ? path : inMemory);
}

async function open(options: StoreOption, role: FleetOptions["role"], path: string): Promise<FleetStore> {
  const { openFleet } = await import("../lib/fleet/open.ts");
  return await openFleet({ url: storeUrl(options), path, role, note: openNote() });
}

function user() {
  return { env: process.env, home: homedir() };
}

function storeUrl({ store }: StoreOption): string | undefined {
  return store ?? (process.env["KODA_STORE"] || undefined);
}

/** For messages. */
export function storeName(options: StoreOption): string {
  if (options.store !== undefined) return "the store of --store";
  return storeUrl(options) === undefined ? "koda's own database" : "the store of KODA_STORE";
}

/** ` --store URL` where a command line needs it to find the batch again; never with a password. */
export function storeWords(options: StoreOption): string {
  return options.store === undefined ? "" : " --store …";
}
