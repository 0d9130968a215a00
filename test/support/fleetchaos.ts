import { existsSync } from "node:fs";
import { join } from "node:path";
import { openFleet } from "../../lib/fleet/open.ts";
import type { AttemptRecord } from "../../lib/fleet/store.ts";
import {
  batches,
  database,
  makeRepository,
  openStoreOf,
  processesOf,
  resultsOf,
  startWorker,
  submit,
  taskOf,
  untilGone,
  type WorkerUnderTest,
} from "./fleetplace.ts";
import { call, reply, say, wait } from "./model-reply.ts";
import { startModelServer } from "./model-server.ts";
import { makePlace } from "./place.ts";
import { until } from "./until.ts";

type Chaos = {
  tasks: number;
  workers: number;
  killEveryMs: number;
  leaseMs: number;
  /** A store in PostgreSQL; without it koda's own database. */
  url?: string;
};

export type ChaosReport = {
  problems: readonly string[];
  kills: number;
  kinds: Readonly<Partial<Record<AttemptRecord["kind"], number>>>;
  outcomes: Readonly<Record<string, number>>;
};

/** Workers on one list, one of which is killed at random again and again, and replaced. */
export async function killWorkers({ tasks, workers, killEveryMs, leaseMs, url }: Chaos): Promise<ChaosReport> {
  await using place = makePlace();
  const repo = makeRepository(place, { "a.txt": "one\n" });
  // Half of the requests are the second ones of their tasks.
  await using server = await startModelServer(({ lines }) =>
    lines.some(({ text }) => text.includes("mark.txt"))
      ? reply(
          wait(() => Bun.sleep(Math.random() * 300)),
          say("Done."),
        )
      : reply(
          wait(() => Bun.sleep(Math.random() * 300)),
          call("Write", { path: "mark.txt", content: "x\n" }),
        ),
  );
  openStoreOf(place);
  await using store = await openFleet({
    ...(url !== undefined && { url }),
    path: database(place),
    role: "client",
    note: () => {},
  });
  const keys = Array.from({ length: tasks }, (_, at) => `t${at}`);
  const list = keys.map((key) => taskOf(server, { key, repo }));
  const batch = await submit(store, list, { leaseMs });

  const args = url === undefined ? [] : ["--store", url];
  const begin = () => startWorker(place, args);
  const living: WorkerUnderTest[] = Array.from({ length: workers }, begin);
  const started: WorkerUnderTest[] = [...living];
  let kills = 0;
  let isOver = false;
  const killing = (async () => {
    for (;;) {
      await Bun.sleep(killEveryMs);
      if (isOver) return;
      const at = Math.floor(Math.random() * living.length);
      living[at]?.child.kill("SIGKILL");
      kills++;
      const next = begin();
      living[at] = next;
      started.push(next);
    }
  })();
  const isSettled = async () => (await store.overview(batch)).state === "over";
  while (!(await isSettled())) {
    const ended = living.find(({ child }) => child.exitCode !== null);
    if (ended !== undefined) throw new Error(`A worker ended by itself: ${await ended.child.stderr.text()}`);
    await Bun.sleep(100);
  }
  isOver = true;
  await killing;
  for (const worker of living) worker.child.kill("SIGTERM");
  await Promise.all(living.map((worker) => worker.exit()));
  await untilGone(place);

  const results = Object.values(await resultsOf(store, batch));
  const problems: string[] = [];
  for (const { key, state, attempts } of results) {
    const last = attempts.at(-1)?.kind;
    const lost = attempts.filter(({ kind }) => kind === "lost" || kind === "superseded").length;
    const isRight = state === "done" ? last === "settled" : state === "poison" && lost === 2;
    if (!isRight) problems.push(`${key} is ${state} after ${attempts.map(({ kind }) => kind)}`);
    if (attempts.filter(({ kind }) => kind === "settled").length > 1) problems.push(`${key} was settled twice`);
    if (attempts.some(({ kind }) => kind === "open")) problems.push(`${key} has an open attempt`);
  }
  if (results.length !== tasks) problems.push(`${results.length} of ${tasks} tasks have a result`);
  const attempts = results.flatMap((result) => result.attempts);
  const told = started.flatMap(({ events }) => events).filter(({ type }) => type === "task.start").length;
  if (told > attempts.length) problems.push(`${told} attempts were begun, ${attempts.length} recorded`);
  if (processesOf(place).length > 0) problems.push(`left: ${processesOf(place)}`);
  await until(() => !existsSync(join(batches(place), batch)), "the work trees to be gone");
  return {
    problems,
    kills,
    kinds: countsOf(attempts.map(({ kind }) => kind)),
    outcomes: countsOf(results.map(({ state }) => state)),
  };
}

function countsOf<Name extends string>(names: readonly Name[]): Partial<Record<Name, number>> & Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts as Partial<Record<Name, number>> & Record<string, number>;
}
