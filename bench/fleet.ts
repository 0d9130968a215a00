import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLocalFleet } from "../lib/fleet/local/local.ts";
import { openRemoteFleet } from "../lib/fleet/postgres/remote.ts";
import type { FleetStore } from "../lib/fleet/store.ts";
import { defaults, exit, isClaim, newBatchId, task, worker } from "../test/support/fleettasks.ts";
import { missingPostgres, startPostgres } from "../test/support/postgres.ts";
import { type Figure, median } from "./measure.ts";

const tasks = Array.from({ length: 10_000 }, (_, at) => task(`task-${at}`));
const workers = 50;
const together = 2_000;
const alone = 200;

/** On a slow disk fewer are measured. */
const mostMs = 15_000;

const idleMs = 40_000;

/** As often as a worker asks that has waited for some time. */
const pollMs = 3_000;

/** Both stores of batches, without processes of tasks. PostgreSQL waits for its disk at each commit. */
export async function measure(): Promise<Figure[]> {
  const home = mkdtempSync(join(tmpdir(), "koda-bench-fleet-"));
  try {
    await using server = missingPostgres === undefined ? await startPostgres({ fsync: "on" }) : undefined;
    return [
      ...(await measureLocal(join(home, "koda.db"))),
      ...(server === undefined ? [] : await measureRemote(await server.create())),
      // They sleep, so neither is in the way of the other.
      ...(await Promise.all([
        measureIdle("SQLite", { path: join(home, "idle.db") }),
        ...(server === undefined ? [] : [measureIdle("PostgreSQL", { url: await server.create() })]),
      ])),
    ];
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** One process with fifty tasks at once, as of `koda batch run -j 50`. */
async function measureLocal(path: string): Promise<Figure[]> {
  await using store = openLocalFleet(path);
  return await measureStore("SQLite", store, Array<FleetStore>(workers).fill(store));
}

/** Fifty workers with connections of their own. */
async function measureRemote(url: string): Promise<Figure[]> {
  await using stack = new AsyncDisposableStack();
  const stores: FleetStore[] = [];
  for (let count = 0; count < workers; count++)
    stores.push(stack.use(await openRemoteFleet(url, { role: "client", note: console.error, connections: 1 })));
  const [first] = stores;
  return first === undefined ? [] : await measureStore("PostgreSQL", first, stores);
}

async function measureStore(name: string, store: FleetStore, stores: readonly FleetStore[]): Promise<Figure[]> {
  const batch = newBatchId();
  const submitMs = await timed(() => store.submit(batch, defaults, tasks));
  const work = async (each: FleetStore, most: number, latencies: number[]) => {
    const end = performance.now() + mostMs;
    while (latencies.length < most && performance.now() < end) latencies.push(await timed(() => carryOut(each, batch)));
  };
  const latencies: number[] = [];
  await work(store, alone, latencies);
  const settled: number[] = [];
  const wallMs = await timed(() => Promise.all(stores.map((each) => work(each, together, settled))));
  const of = `in ${name}`;
  return [
    figure(`submit 10,000 tasks ${of}`, submitMs, 2_000),
    figure(`claim and settle ${of}, ${workers} at once: wall / tasks`, wallMs / settled.length, 3),
    figure(`claim and settle ${of}, one alone: median`, median(latencies), 10),
  ];
}

async function carryOut(store: FleetStore, batch: string): Promise<void> {
  const claim = await store.claim(worker(), batch);
  if (!isClaim(claim)) throw new Error("there is no task left to claim");
  await store.end(claim, exit(0));
}

/** The processor time of a process that asks an empty store for tasks, and of nothing else. */
async function measureIdle(name: string, where: { url?: string; path?: string }): Promise<Figure> {
  const child = Bun.spawn([process.execPath, "bench/fleetidle.ts", JSON.stringify({ ...where, pollMs, idleMs })], {
    stdout: "pipe",
    stderr: "inherit",
  });
  const cpuMs = Number(await child.stdout.text());
  const percent = (cpuMs / idleMs) * 100;
  const what = `processor time of a worker's polling of ${name}`;
  return { what, value: percent, unit: "%", bar: "≤ 0.2 %", holds: percent <= 0.2 };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

function figure(what: string, value: number, most: number): Figure {
  return { what, value, unit: "ms", bar: `≤ ${most} ms`, holds: value <= most };
}
