import type { AttemptEnd, FleetStore, TaskClaim, TaskResult, WorkerIdentity } from "../../lib/fleet/store.ts";
import { defaults, isClaim, newBatchId, resultsOf, task, worker } from "./fleettasks.ts";
import { seeded } from "./random.ts";
import { until } from "./until.ts";

type Walk = {
  store: FleetStore;
  leaseMs: number;
  expire(batch: string, key: string): Promise<void>;
  hasten(batch: string): Promise<void>;
  seed: number;
};

/** The least that a request costs here; a worker notices only after one that it has spent too much. */
const request = 1;

/**
 * Workers that claim, work, die, are silent for too long and come back, at random; also in a batch that is cancelled,
 * retried or limited. Returns what contradicts the promises.
 */
export async function walkFleet({ store, leaseMs, expire, hasten, seed }: Walk): Promise<string[]> {
  const random = seeded(seed);
  const pick = <T>(values: readonly T[]) => values[Math.floor(random() * values.length)] as T;
  const chance = (of: number) => random() < of;
  const batch = newBatchId();
  const keys = Array.from({ length: 1 + Math.floor(random() * 12) }, (_, at) => `k${at}`);
  const tasks = keys.map((key, at) => {
    const after = at > 0 && chance(0.25) ? [pick(keys.slice(0, at))] : [];
    return task(key, { after, labels: chance(0.2) ? ["x"] : [], ...(chance(0.3) && { maxCost: 3 }) });
  });
  const maxCost = chance(0.5) ? 5 + Math.floor(random() * 40) : undefined;
  const settings = { ...defaults, leaseMs, keepGoing: chance(0.7), ...(maxCost !== undefined && { maxCost }) };
  await store.submit(batch, settings, tasks);

  const problems: string[] = [];
  const workers = Array.from({ length: 1 + Math.floor(random() * 4) }, () => worker(chance(0.5) ? ["x"] : []));
  const running = new Map<TaskClaim, { worker: WorkerIdentity; spent: number; isLost: boolean }>();
  const settledBy = new Map<string, number>();
  let claims = 0;
  let mostRunning = 0;

  const endOne = async (claim: TaskClaim, end: AttemptEnd) => {
    const before = await resultsOf(store, batch);
    const state = running.get(claim);
    running.delete(claim);
    const settled = await store.end(claim, end);
    if (settled.kind === "superseded") {
      if (state?.isLost !== true) problems.push(`attempt ${claim.attempt} of ${claim.task.key} was refused`);
      const after = await resultsOf(store, batch);
      if (shown(before) !== shown(after)) problems.push(`a late end changed ${shown(before)} to ${shown(after)}`);
    }
    if (settled.kind === "retried") await hasten(batch);
    if (settled.kind === "settled") settledBy.set(claim.task.key, (settledBy.get(claim.task.key) ?? 0) + 1);
  };
  const claimOne = async (who: WorkerIdentity) => {
    const found = await store.claim(who, batch);
    if (!isClaim(found)) return found.isOver;
    claims++;
    running.set(found, { worker: who, spent: 0, isLost: false });
    mostRunning = Math.max(mostRunning, running.size);
    if (!found.task.labels.every((label) => who.labels.includes(label))) problems.push(`${found.task.key} has labels`);
    return false;
  };
  const workOn = async (claim: TaskClaim) => {
    const state = running.get(claim);
    if (state === undefined) return;
    if (claim.grant.costUsd === undefined || state.spent + request <= claim.grant.costUsd) {
      state.spent += request;
      return;
    }
    const more = await store.grantMore(claim, { costUsd: state.spent, tokens: 0 });
    if (more?.costUsd !== undefined && more.costUsd >= request) claim.grant.costUsd = state.spent + more.costUsd;
    else await endOne(claim, { ...endWith(5, state.spent), kind: "budget" });
  };
  const expireOne = async (claim: TaskClaim) => {
    await expire(batch, claim.task.key);
    for (const [other, state] of running) if (other.task.key === claim.task.key) state.isLost = true;
  };
  const step = async () => {
    const claim = pick([...running.keys()]);
    const what = random();
    if (claim === undefined || what < 0.3) return void (await claimOne(pick(workers)));
    const state = running.get(claim);
    const spent = state?.spent ?? 0;
    if (what < 0.6) await workOn(claim);
    else if (what < 0.68) await expireOne(claim);
    else if (what < 0.72) running.delete(claim);
    else if (what < 0.76)
      await store.keep(state?.worker ?? worker(), new Map([[claim, { costUsd: spent, tokens: spent }]]));
    else if (what < 0.78) await store.checkpoint(claim, emptyCheckpoint);
    else if (what < 0.79) await store.cancel(batch);
    else if (what < 0.81) await store.retry(batch, { outcomes: ["failed", "poison", "cancelled", "skipped"] });
    else
      await endOne(claim, {
        ...endWith(pick([0, 0, 0, 3, 5, 9, 1, 70, 7, 143]), spent),
        kind: pick(["exit", "exit", "exit", "stopped"]),
      });
  };
  for (let steps = 20 + Math.floor(random() * 80); steps > 0; steps--) await step();
  // Everything comes to its end: who died is silent, who lives finishes.
  await until(async () => {
    for (const claim of Array.from(running.keys())) await endOne(claim, endWith(0, running.get(claim)?.spent ?? 0));
    for (const key of keys) await expire(batch, key);
    return await claimOne(worker(["x"]));
  }, `the end of batch ${seed}`);

  const results = await resultsOf(store, batch);
  const attempts = results.flatMap((result) => result.attempts);
  const overview = await store.overview(batch);
  if (attempts.length !== claims) problems.push(`${claims} claims and ${attempts.length} attempts`);
  for (const { key, state, attempts: own } of results) {
    if (["waiting", "queued", "running"].includes(state) && overview.state === "over")
      problems.push(`${key} is ${state}`);
    if (own.some(({ kind }) => kind === "open")) problems.push(`${key} has an open attempt`);
    if (own.filter(({ kind }) => kind === "settled").length !== (settledBy.get(key) ?? 0))
      problems.push(`${key}: settled ${settledBy.get(key)} times, recorded as ${own.map(({ kind }) => kind)}`);
  }
  const sum = Object.values(overview.counts).reduce((total, count) => total + count, 0);
  if (sum !== keys.length) problems.push(`counts add up to ${sum} of ${keys.length}`);
  if (overview.state === "open") problems.push(`the batch is still open: ${JSON.stringify(overview)}`);
  if (overview.reserved.costUsd > 1e-9) problems.push(`${overview.reserved.costUsd} is still reserved`);
  const total = attempts.reduce((all, { spent }) => all + spent.costUsd, 0);
  if (Math.abs(total - overview.spent.costUsd) > 1e-6) problems.push(`${total} is not ${overview.spent.costUsd}`);
  if (maxCost !== undefined && total > maxCost + mostRunning * request)
    problems.push(`${total} spent of ${maxCost}, with ${mostRunning} running`);
  return problems;
}

function endWith(exit: number, costUsd: number): AttemptEnd {
  const retryAt = exit === 9 ? Date.now() - 1 : undefined;
  const spent = { costUsd, tokens: costUsd };
  return { exit, kind: "exit", spent, durationMs: 1, result: { exit }, ...(retryAt !== undefined && { retryAt }) };
}

/** Everything but the records of attempts. */
function shown(results: readonly TaskResult[]): string {
  return JSON.stringify(results.map(({ key, state, result, session }) => ({ key, state, result, session })));
}

const emptyCheckpoint = { version: 1, from: 0, items: new Uint8Array(), patch: new Uint8Array() };
