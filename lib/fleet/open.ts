import type { FleetStore } from "./store.ts";

export type FleetOptions = {
  /** Of PostgreSQL; without one the batches are in koda's own database. */
  url?: string | undefined;
  /** Of koda's own database. */
  path: string;
  /** A worker waits longer for a server that is away, and finds the tasks of dead workers. */
  role: "worker" | "client";
  /** Lines for people, about what is waited for. */
  note: (text: string) => void;
};

export async function openFleet({ url, path, role, note }: FleetOptions): Promise<FleetStore> {
  if (url === undefined) return (await import("./local/local.ts")).openLocalFleet(path);
  const { openRemoteFleet } = await import("./postgres/remote.ts");
  return await openRemoteFleet(url, { role, note });
}
