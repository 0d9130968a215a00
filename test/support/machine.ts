import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { taskFlags } from "../../cmd/flags.ts";
import { Attempts } from "../../lib/fleet/work/attempts.ts";
import type { FleetEvent } from "../../lib/fleet/events.ts";
import type { FleetStore, WorkerIdentity } from "../../lib/fleet/store.ts";
import { FleetWorker } from "../../lib/fleet/work/worker.ts";
import { thisProcess } from "../../lib/session/process.ts";
import { batches, database } from "./fleetplace.ts";
import { binary } from "./koda.ts";
import type { Place } from "./place.ts";

type Choice = {
  env?: Record<string, string>;
  signal?: AbortSignal;
  batch?: string;
  jobs?: number;
  checkpointMs?: number | undefined;
  patienceMs?: number;
  once?: boolean;
  drainAfterMs?: number;
  keepTrees?: boolean;
  publishCommand?: string;
  gitLimitMs?: number;
  onEvent?: (event: FleetEvent) => void;
};

/** A worker in the test's own process, on the machine that a place stands for; the store may be another's. */
export async function workAt(place: Place, store: FleetStore, choice: Choice = {}) {
  const { signal = new AbortController().signal, batch, jobs = 1, patienceMs, once, drainAfterMs } = choice;
  mkdirSync(dirname(database(place)), { recursive: true });
  const { checkpointMs, keepTrees, publishCommand, gitLimitMs } = choice;
  using attempts = new Attempts({
    store,
    database: database(place),
    directory: batches(place),
    program: [binary],
    env: { ...place.env, ...choice.env },
    isTaskFlag: (name) => Object.hasOwn(taskFlags, name),
    checkpointMs,
    keepTrees,
    publishCommand,
    gitLimitMs,
  });
  const events: FleetEvent[] = [];
  const note = (event: FleetEvent) => {
    events.push(event);
    choice.onEvent?.(event);
  };
  const options = { store, identity: newIdentity(), concurrency: jobs, attempts, note, signal };
  const worker = new FleetWorker({ ...options, batch, patienceMs, once, drainAfterMs });
  return { end: await worker.run(), events };
}

function newIdentity(): WorkerIdentity {
  return { id: crypto.randomUUID(), ...thisProcess(), version: "test", labels: [] };
}
