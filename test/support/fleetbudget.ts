import type { FleetStore } from "../../lib/fleet/store.ts";
import { defaults, exit, isClaim, newBatchId, task, worker } from "./fleettasks.ts";
import { seeded } from "./random.ts";
import { until } from "./until.ts";

/** What a request of these tasks costs. A run ends before the one that its grant does not cover. */
const request = 1;

/**
 * Fifty workers at once with a budget of twenty tasks' worth, for three times as many tasks. Returns what they have spent
 * and the most that ran at a moment.
 */
export async function spendTogether(store: FleetStore, leaseMs: number, seed: number): Promise<Spent> {
  const random = seeded(seed);
  const batch = newBatchId();
  const lengths = new Map(Array.from({ length: 60 }, (_, at) => [`t${at}`, 1 + Math.floor(random() * 9)]));
  const maxCost = 20 * 5 * request;
  await store.submit(
    batch,
    { ...defaults, leaseMs, maxCost },
    [...lengths.keys()].map((key) => task(key)),
  );
  let running = 0;
  let mostRunning = 0;
  const work = async () => {
    const who = worker();
    await until(async () => {
      const claim = await store.claim(who, batch);
      if (!isClaim(claim)) return claim.isOver;
      mostRunning = Math.max(mostRunning, ++running);
      let left = claim.grant.costUsd ?? 0;
      let spent = 0;
      let isOut = false;
      let requests = lengths.get(claim.task.key) ?? 0;
      while (requests > 0 && !isOut) {
        if (left > 0) {
          // Its price is known when it is over: the last one may cost more than was left.
          left -= request;
          spent += request;
          requests--;
          continue;
        }
        const more = await store.grantMore(claim, { costUsd: spent, tokens: 0 });
        if (more?.costUsd === undefined) isOut = true;
        else left += more.costUsd;
      }
      running--;
      // The next attempt goes on from here.
      lengths.set(claim.task.key, requests);
      await store.end(claim, isOut ? { ...exit(5, spent), kind: "budget" } : exit(0, spent));
      return false;
    }, "the end of the batch");
  };
  await Promise.all(Array.from({ length: 50 }, work));
  const { spent, state, counts } = await store.overview(batch);
  return { spent: spent.costUsd, maxCost, mostSpent: maxCost + mostRunning * request, state, done: counts.done };
}

export type Spent = { spent: number; maxCost: number; mostSpent: number; state: string; done: number };
