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
const settled = 2_000;
const alone = 200;
const idleMs = 20_000;

/** As often as a worker asks that has waited for some time. */
const pollMs = 3_000;

/** Both stores of batches, without processes of tasks. PostgreSQL waits for its disk at each commit. */
export async function measure(): Promise<Figure[]> {
  return [...(await measureLocal()), ...(await measureRemote())];
}

/** One process with fifty tasks at once, as of `koda batch run -j 50`. */
async function measureLocal(): Promise<Figure[]> {
  const home = mkdtempSync(join(tmpdir(), "koda-bench-fleet-"));
  const path = join(home, "koda.db");
  try {
    await using store = openLocalFleet(path);
    const figures = await measureStore("SQLite", store, Array<FleetStore>(workers).fill(store));
    return [...figures, await measureIdle("SQLite", { path: join(home, "idle.db") })];
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** Fifty workers with connections of their own. */
async function measureRemote(): Promise<Figure[]> {
  if (missingPostgres !== undefined) return [];
  await using server = await startPostgres({ fsync: "on" });
  const url = await server.create();
  await using stack = new AsyncDisposableStack();
  const stores: FleetStore[] = [];
  for (let count = 0; count < workers; count++)
    stores.push(stack.use(await openRemoteFleet(url, { role: "client", note: console.error, connections: 1 })));
  const [first] = stores;
  if (first === undefined) return [];
  return [
    ...(await measureStore("PostgreSQL", first, stores)),
    await measureIdle("PostgreSQL", { url: await server.create() }),
  ];
}

async function measureStore(name: string, store: FleetStore, stores: readonly FleetStore[]): Promise<Figure[]> {
  const batch = newBatchId();
  const submitMs = await timed(() => store.submit(batch, defaults, tasks));
  const latencies: number[] = [];
  for (let count = 0; count < alone; count++) latencies.push(await timed(() => carryOut(store, batch)));
  let left = settled;
  const work = async (each: FleetStore) => {
    while (left-- > 0) await carryOut(each, batch);
  };
  const wallMs = await timed(() => Promise.all(stores.map(work)));
  const of = `in ${name}`;
  return [
    figure(`submit 10,000 tasks ${of}`, submitMs, 2_000),
    figure(`claim and settle ${of}, ${workers} at once: wall / tasks`, wallMs / settled, 3),
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
