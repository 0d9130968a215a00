import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { killWorkers } from "../test/support/fleetchaos.ts";
import { openStoreOf, startWorker } from "../test/support/fleetplace.ts";
import { binary, start, using } from "../test/support/koda.ts";
import { reply, say, wait } from "../test/support/model-reply.ts";
import { type ModelServer, startModelServer } from "../test/support/model-server.ts";
import { makePlace, type Place } from "../test/support/place.ts";
import { missingPostgres, startPostgres } from "../test/support/postgres.ts";
import { type Figure, interleaved, median } from "./measure.ts";

/** Workers that are killed, a list beside a shell loop over it, and a worker that has nothing to do. */
export async function measure(): Promise<Figure[]> {
  const local = await measureKills("its own database");
  const overhead = await measureOverhead();
  const idle = [await measureIdle("its own database")];
  if (missingPostgres !== undefined) return [...local, ...overhead, ...idle];
  await using server = await startPostgres();
  const kills = await measureKills("PostgreSQL", await server.create());
  return [...local, ...kills, ...overhead, ...idle, await measureIdle("PostgreSQL", await server.create())];
}

const tasks = 300;
const workers = 6;

async function measureKills(store: string, url?: string): Promise<Figure[]> {
  const started = performance.now();
  const killed = { tasks, workers, killEveryMs: 2000, leaseMs: url === undefined ? 30_000 : 10_000 };
  const { problems, kills, kinds } = await killWorkers({ ...killed, ...(url !== undefined && { url }) });
  for (const problem of problems) console.error(problem);
  const what = `${tasks} tasks in ${store}, ${workers} workers, ${kills} of them killed`;
  const lost = (kinds.lost ?? 0) + (kinds.superseded ?? 0);
  return [
    {
      what: `${what}: settled once`,
      value: tasks - problems.length,
      unit: "",
      bar: "all",
      holds: problems.length === 0,
    },
    { what: `${what}: attempts lost`, value: lost, unit: "", bar: "", holds: true },
    { what, value: (performance.now() - started) / 1000, unit: "s", bar: "", holds: true },
  ];
}

const jobs = 8;
const listed = 80;

/** The floor is a loop of the shell, with as many at once. */
async function measureOverhead(): Promise<Figure[]> {
  await using place = makePlace();
  await using server = await startModelServer(() =>
    reply(
      wait(() => Bun.sleep(1000)),
      say("Done."),
    ),
  );
  const keys = Array.from({ length: listed }, (_, at) => `t${at}`);
  const list = join(place.project, "tasks.jsonl");
  writeFileSync(list, keys.map((key) => `${JSON.stringify({ key, prompt: `Do ${key}` })}\n`).join(""));
  const flags = using(server);
  const batch = async () => await timeOf(place, ["batch", "run", list, "-j", String(jobs), ...flags]);
  const [run = [], loop = []] = await interleaved(3, batch, async () => await timeOfLoop(place, server, keys));
  const [value, floor] = [median(run), median(loop)];
  const what = `batch run -j ${jobs}, ${listed} tasks, beside xargs -P ${jobs}`;
  return [{ what, value, unit: "ms", floor, bar: "1.05 x", holds: value <= floor * 1.05 }];
}

async function timeOf(place: Place, args: readonly string[]): Promise<number> {
  const started = performance.now();
  const child = start(place, args);
  if ((await child.exited) !== 0) throw new Error(`koda ${args.join(" ")}: ${await child.stderr.text()}`);
  return performance.now() - started;
}

async function timeOfLoop(place: Place, server: ModelServer, keys: readonly string[]): Promise<number> {
  const started = performance.now();
  const child = Bun.spawn(["xargs", "-P", String(jobs), "-I{}", binary, "exec", ...using(server), "Do {}"], {
    cwd: place.project,
    env: place.env,
    stdin: new TextEncoder().encode(keys.join("\n")),
    stdout: "ignore",
    stderr: "ignore",
  });
  if ((await child.exited) !== 0) throw new Error(`xargs exited with ${child.exitCode}`);
  return performance.now() - started;
}

const idleMs = 30_000;

/** Once it has found out that there is nothing to do. */
async function measureIdle(store: string, url?: string): Promise<Figure> {
  await using place = makePlace();
  await openStoreOf(place)[Symbol.asyncDispose]();
  const worker = startWorker(place, url === undefined ? [] : ["--store", url]);
  await Bun.sleep(5000);
  const before = ticksOf(worker.child.pid);
  await Bun.sleep(idleMs);
  const ticks = ticksOf(worker.child.pid) - before;
  worker.child.kill("SIGTERM");
  await worker.exit();
  const value = ((ticks * 10) / idleMs) * 100;
  return { what: `an idle worker of ${store}, processor`, value, unit: "%", bar: "0.2 %", holds: value <= 0.2 };
}

/** Hundredths of a second. */
function ticksOf(pid: number): number {
  const fields = readStat(pid);
  return Number(fields[11]) + Number(fields[12]);
}

function readStat(pid: number): readonly string[] {
  const text = readFileSync(`/proc/${pid}/stat`, "latin1");
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}
