/**
 * `bun bench/fleetplan.ts [CLAIM_MS SETTLE_MS BEAT_MS LOCK_MS]`: how many tasks at once a PostgreSQL store carries. A
 * simulation, with the costs that `npm run bench fleet` prints for it; it prints a table for docs/fleet.md.
 */
import { seeded } from "../test/support/random.ts";

/** Times of the database's processors for one of each, and how long an attempt of a limited batch locks its account. */
type Costs = { claimMs: number; settleMs: number; beatMs: number; lockMs: number };

type Plan = Costs & {
  workers: number;
  tasks: number;
  /** The mean; tasks differ as random times between arrivals do. */
  taskMs: number;
  beatEveryMs: number;
  cores: number;
  /** All tasks share a budget. */
  isLimited: boolean;
};

type Forecast = {
  hours: number;
  /** The part of the workers' time in which they wait for the store. */
  waiting: number;
  /** Of the database's processors. */
  load: number;
  /** The time of a claim that 95 of 100 do not exceed. */
  claimMs: number;
};

/** Serves one request after the other on each of its processors, in the order of their arrival. */
class Servers {
  busyMs = 0;
  readonly #freeAt: number[];

  constructor(count: number) {
    this.#freeAt = Array.from({ length: count }, () => 0);
  }

  /** When a request that comes now is done. */
  serve(now: number, ms: number): number {
    let first = 0;
    for (let at = 1; at < this.#freeAt.length; at++)
      if ((this.#freeAt[at] ?? 0) < (this.#freeAt[first] ?? 0)) first = at;
    const done = Math.max(now, this.#freeAt[first] ?? 0) + ms;
    this.#freeAt[first] = done;
    this.busyMs += ms;
    return done;
  }
}

type Event = { at: number; worker: number; kind: "claim" | "beat" | "settle"; endsAt: number };

function simulate(plan: Plan): Forecast {
  const { workers, tasks, taskMs, beatEveryMs, cores, isLimited, claimMs, settleMs, beatMs, lockMs } = plan;
  const random = seeded(1);
  const database = new Servers(cores);
  const account = new Servers(1);
  const change = (now: number, ms: number) => {
    const done = database.serve(now, ms);
    return isLimited ? Math.max(done, account.serve(now, lockMs)) : done;
  };
  const events = new Heap();
  let left = tasks;
  let workMs = 0;
  let waitMs = 0;
  let now = 0;
  const waits: number[] = [];
  // Workers are not started in the same millisecond.
  for (let worker = 0; worker < workers; worker++)
    events.push({ at: random() * 10_000, worker, kind: "claim", endsAt: 0 });
  for (let event = events.pop(); event !== undefined; event = events.pop()) {
    now = event.at;
    const { worker, kind, endsAt } = event;
    if (kind === "claim") {
      if (left === 0) continue;
      left--;
      const begun = change(now, claimMs);
      waitMs += begun - now;
      if (waits.length < 200_000) waits.push(begun - now);
      const durationMs = -Math.log(1 - random()) * taskMs;
      workMs += durationMs;
      events.push(next(begun, worker, begun + durationMs));
    } else if (kind === "beat") {
      database.serve(now, beatMs);
      events.push(next(now, worker, endsAt));
    } else {
      const settled = change(now, settleMs);
      waitMs += settled - now;
      events.push({ at: settled, worker, kind: "claim", endsAt: 0 });
    }
  }
  waits.sort((a, b) => a - b);
  return {
    hours: now / 3_600_000,
    waiting: waitMs / (workMs + waitMs),
    load: database.busyMs / (now * cores),
    claimMs: waits[Math.floor(waits.length * 0.95)] ?? 0,
  };

  function next(at: number, worker: number, endsAt: number): Event {
    const beatAt = at + beatEveryMs;
    return beatAt < endsAt
      ? { at: beatAt, worker, kind: "beat", endsAt }
      : { at: endsAt, worker, kind: "settle", endsAt };
  }
}

/** The earliest event first. */
class Heap {
  readonly #events: Event[] = [];

  push(event: Event): void {
    const events = this.#events;
    let at = events.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if ((events[parent]?.at ?? 0) <= event.at) break;
      events[at] = events[parent] ?? event;
      at = parent;
    }
    events[at] = event;
  }

  pop(): Event | undefined {
    const events = this.#events;
    const first = events[0];
    const last = events.pop();
    if (last === undefined || first === last) return first;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const right = left + 1;
      const child = (events[right]?.at ?? Infinity) < (events[left]?.at ?? Infinity) ? right : left;
      const least = events[child];
      if (least === undefined || least.at >= last.at) break;
      events[at] = least;
      at = child;
    }
    events[at] = last;
    return first;
  }
}

const [claimMs = 2.2, settleMs = 2.2, beatMs = 0.5, lockMs = 2] = process.argv.slice(2).map(Number);
const costs: Costs = { claimMs, settleMs, beatMs, lockMs };

console.log("| mean task | at once | budget | hours | load of 2 cores | claim, p95 | waiting for the store |");
console.log("| --: | --: | --- | --: | --: | --: | --: |");
for (const taskMs of [60_000, 5_000])
  for (const workers of [100, 1_000, 3_000, 10_000])
    for (const isLimited of [false, true]) {
      const plan = { ...costs, workers, tasks: 1_000_000, taskMs, isLimited, beatEveryMs: 20_000, cores: 2 };
      const { hours, waiting, load, claimMs: longMs } = simulate(plan);
      const cells = [
        `${taskMs / 1000} s`,
        workers.toLocaleString("en"),
        isLimited ? "shared" : "none",
        hours.toFixed(1),
        `${(load * 100).toFixed(0)} %`,
        `${longMs < 10 ? longMs.toFixed(1) : Math.round(longMs)} ms`,
        `${(waiting * 100).toFixed(1)} %`,
      ];
      console.log(`| ${cells.join(" | ")} |`);
    }
