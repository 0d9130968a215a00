import { homedir } from "node:os";
import { within } from "../lib/async/within.ts";
import { batchesDirectory, databaseFile } from "../lib/config/paths.ts";
import { KodaError } from "../lib/errors.ts";
import { Attempts } from "../lib/fleet/work/attempts.ts";
import type { FleetEvent } from "../lib/fleet/events.ts";
import { countUnsettled } from "../lib/fleet/results/tally.ts";
import type { FleetStore, WorkerIdentity } from "../lib/fleet/store.ts";
import { sweepWorkTrees } from "../lib/fleet/work/sweep.ts";
import { FleetWorker, type WorkerEnd } from "../lib/fleet/work/worker.ts";
import { thisProcess } from "../lib/session/process.ts";
import { taskFlags } from "./flags.ts";
import type { Stopper } from "./signals.ts";
import { loadUserConfig } from "./userconfig.ts";
import { version } from "./version.ts";

type FleetWork = {
  store: FleetStore;
  /** Only this batch, until it is over. */
  batch?: string | undefined;
  jobs: number;
  labels: readonly string[];
  once?: boolean;
  drainAfterMs?: number | undefined;
  keep: boolean;
  publishCommand?: string | undefined;
  noSandbox: boolean;
  stopper: Stopper;
  note: (event: FleetEvent) => void;
};

/** Works at tasks in this process, each in a child of its own, until there is nothing to do or a signal comes. */
export async function workOnTasks(work: FleetWork): Promise<WorkerEnd> {
  const { store, batch, jobs, labels, once, drainAfterMs, keep, publishCommand, noSandbox, stopper, note } = work;
  const user = { env: process.env, home: homedir() };
  const directory = batchesDirectory(user);
  const identity: WorkerIdentity = { id: crypto.randomUUID(), ...thisProcess(), version, labels };
  const sweep = () => sweepWorkTrees(directory, (id) => isOpen(store, id));
  for (const message of await sweep()) note({ type: "worker.note", worker: identity.id, message });
  using attempts = new Attempts({
    store,
    database: databaseFile(user),
    directory,
    program: [process.execPath],
    env: process.env,
    keepTrees: keep,
    publishCommand,
    flags: noSandbox ? ["--no-sandbox"] : [],
    isTaskFlag: (name) => Object.hasOwn(taskFlags, name),
    // An invalid configuration stops the worker, and not each task.
    mayWriteGit: (await loadUserConfig()).sandbox.allowGit || noSandbox,
  });
  const { signal } = stopper.controller;
  const choice = { concurrency: jobs, batch, once, drainAfterMs };
  const worker = new FleetWorker({ store, identity, ...choice, attempts, note, signal });
  stopper.killNow = () => attempts.killNow();
  const end = await worker.run();
  // Its problems have been told already: at the start, or with their tasks.
  await (end.exit === 0 ? sweep() : within(lastSweepMs, sweep()));
  return end;
}

/** A worker that is told to stop does not wait for a store that is away. */
const lastSweepMs = 2_000;

/** One that this store does not know may be another store's. */
async function isOpen(store: FleetStore, batch: string): Promise<boolean> {
  try {
    return countUnsettled((await store.overview(batch)).counts) > 0;
  } catch (error) {
    if (error instanceof KodaError) return true;
    throw error;
  }
}
