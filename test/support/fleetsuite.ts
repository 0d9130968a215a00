import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rowOf } from "../../lib/fleet/results/row.ts";
import type { AttemptEnd, BatchSettings, FleetStore, Idle, TaskClaim } from "../../lib/fleet/store.ts";
import type { FleetTask } from "../../lib/fleet/task.ts";
import { thisProcess } from "../../lib/session/process.ts";
import { spendTogether } from "./fleetbudget.ts";
import { defaults, exit, newBatchId, resultsOf, task, worker } from "./fleettasks.ts";
import { walkFleet } from "./fleetwalk.ts";

export type FleetUnderTest = {
  open(): Promise<FleetStore>;
  /** As if the worker of this task had not been heard of for long. */
  silence(batch: string, key: string): Promise<void>;
  /** As if the queue had noticed that the lease of this task is over. */
  lapse(batch: string, key: string): Promise<void>;
  /** As if all that waits in the queue had waited long enough. */
  hasten(batch: string): Promise<void>;
  leaseMs: number;
};

/** What holds for every store of tasks. `start` may say that there is none here. */
export function describeFleetStore(
  name: string,
  usualWalks: number,
  start: () => Promise<FleetUnderTest & AsyncDisposable>,
): void {
  const walks = sequences ?? usualWalks;
  describe(name, () => {
    let under: FleetUnderTest & AsyncDisposable;
    let store: FleetStore;
    beforeAll(async () => {
      under = await start();
      store = await under.open();
    });
    afterAll(async () => {
      await store[Symbol.asyncDispose]();
      await under[Symbol.asyncDispose]();
    });

    const submit = async (tasks: readonly FleetTask[], settings: Partial<BatchSettings> = {}) => {
      const id = newBatchId();
      await store.submit(id, { ...defaults, leaseMs: under.leaseMs, ...settings }, tasks);
      return id;
    };
    const claimed = async (batch: string, who = worker()) => {
      const claim = await store.claim(who, batch);
      if (!("task" in claim)) throw new Error("nothing to claim");
      return claim;
    };
    const expire = async (batch: string, key: string) => {
      await under.silence(batch, key);
      await under.lapse(batch, key);
    };
    const outcomes = async (batch: string) =>
      Object.fromEntries((await resultsOf(store, batch)).map(({ key, state }) => [key, state]));

    test("tasks are claimed in the order of their list, each once, and settled", async () => {
      const batch = await submit([task("a"), task("b")]);
      const [a, b] = [await claimed(batch), await claimed(batch)];
      expect([a.task.key, b.task.key]).toEqual(["a", "b"]);
      expect(await store.claim(worker(), batch)).toEqual({ isOver: false });
      expect(await store.end(a, exit(0))).toMatchObject({ kind: "settled", outcome: "done" });
      expect(await store.end(b, exit(3))).toMatchObject({ kind: "settled", outcome: "failed" });
      expect(await store.claim(worker(), batch)).toEqual({ isOver: true });
      expect(await store.overview(batch)).toMatchObject({ state: "halted", total: 2, counts: { done: 1, failed: 1 } });
    });

    test("a batch is over when its last task is settled", async () => {
      const batch = await submit([task("a")]);
      await store.end(await claimed(batch), exit(0));
      expect(await store.overview(batch)).toMatchObject({ state: "over", counts: { done: 1 } });
    });

    for (const [code, outcome] of [
      [0, "done"],
      [2, "failed"],
      [3, "failed"],
      [5, "limit"],
      [6, "failed"],
      [8, "failed"],
      [124, "limit"],
    ] as const)
      test(`exit ${code} settles a task as ${outcome}`, async () => {
        const batch = await submit([task("a")]);
        expect(await store.end(await claimed(batch), exit(code))).toMatchObject({ kind: "settled", outcome });
      });

    for (const code of [1, 12, 70, 137])
      test(`exit ${code} gives a task one more try, from its beginning`, async () => {
        const batch = await submit([task("a")]);
        expect(await store.end(await claimed(batch), exit(code))).toEqual({ kind: "retried", notBefore: 0 });
        const second = await claimed(batch);
        expect(second).toMatchObject({ attempt: 2, resumes: false });
        expect(await store.end(second, exit(code))).toMatchObject({ kind: "settled", outcome: "poison" });
        expect(await store.overview(batch)).toMatchObject({ state: "over" });
      });

    test("exit 9 waits for the time that the provider names, and its group waits in all batches", async () => {
      const group = newBatchId();
      const [one, two] = [await submit([task("a", { group })]), await submit([task("b", { group }), task("c")])];
      const notBefore = Date.now() + 3_000_000;
      const end = { ...exit(9), retryAt: notBefore };
      expect(await store.end(await claimed(one), end)).toEqual({ kind: "retried", notBefore });
      expect(await store.claim(worker(), one)).toEqual({ isOver: false });
      expect((await claimed(two)).task.key).toBe("c");
      expect((await store.overview(two)).paused).toContainEqual({ group, until: notBefore });
    });

    test("a provider that asks to wait for a year keeps its group waiting for an hour, and the task for a day", async () => {
      const group = newBatchId();
      const batch = await submit([task("a", { group })]);
      const hour = 3_600_000;
      const settled = await store.end(await claimed(batch), { ...exit(9), retryAt: Date.now() + 9_000 * hour });
      const inHours = (moment = 0) => Math.round((moment - Date.now()) / hour);
      expect(settled.kind === "retried" && inHours(settled.notBefore)).toBe(24);
      const { paused } = await store.overview(batch);
      expect(inHours(paused.find((each) => each.group === group)?.until)).toBe(1);
    });

    test("a provider that stays unavailable makes a task poison when its retries are used up", async () => {
      const batch = await submit([task("a", { group: newBatchId() })], { retries: 2 });
      const end = () => ({ ...exit(9), retryAt: Date.now() - 1 });
      for (const seconds of [30, 60]) {
        const settled = await store.end(await claimed(batch), end());
        if (settled.kind !== "retried") throw new Error(`the task is ${settled.kind}`);
        expect(Math.round((settled.notBefore - Date.now()) / 1000)).toBe(seconds);
        expect(await store.claim(worker(), batch)).toEqual({ isOver: false });
        await under.hasten(batch);
      }
      expect(await store.end(await claimed(batch), end())).toMatchObject({ kind: "settled", outcome: "poison" });
    });

    for (const kind of ["fault", "stopped"] as const)
      test(`an attempt that ended by a ${kind} costs its task nothing`, async () => {
        const batch = await submit([task("a")]);
        for (let round = 1; round < 6; round++) {
          const claim = await claimed(batch);
          expect(claim).toMatchObject({ attempt: round, resumes: round > 1 });
          expect(await store.end(claim, { ...exit(7), kind })).toEqual({ kind: "returned" });
        }
        await store.end(await claimed(batch), exit(0));
        expect(await outcomes(batch)).toEqual({ a: "done" });
      });

    test("a task goes to another worker when its own is silent, whose settlement is then refused", async () => {
      const batch = await submit([task("a")]);
      const first = await claimed(batch);
      await expire(batch, "a");
      const second = await claimed(batch);
      expect(second).toMatchObject({ attempt: 2, resumes: true });
      await store.end(second, { ...exit(0), result: { text: "second" }, patch: bytes("second") });
      const before = await resultsOf(store, batch);
      const late = { ...exit(0, 7), result: { text: "first" }, patch: bytes("first") };
      expect(await store.end(first, late)).toEqual({ kind: "superseded" });
      const [after] = await resultsOf(store, batch);
      expect(after).toMatchObject({ state: "done", result: { text: "second" } });
      expect(after?.attempts.map(({ kind }) => kind)).toEqual(["superseded", "settled"]);
      expect(before[0]?.attempts.map(({ kind }) => kind)).toEqual(["lost", "settled"]);
      expect(text(await store.patch(batch, "a"))).toBe("second");
    });

    test("a heartbeat keeps a task and finds out that it was lost", async () => {
      const batch = await submit([task("a")]);
      const who = worker();
      const claim = await claimed(batch, who);
      const spent = { costUsd: 0.5, tokens: 10 };
      expect(await store.keep(who, new Map([[claim, spent]]))).toEqual(new Map([[claim, "held"]]));
      expect((await store.overview(batch)).spent).toMatchObject(spent);
      await expire(batch, "a");
      await claimed(batch);
      expect(await store.keep(who, new Map([[claim, spent]]))).toEqual(new Map([[claim, "lost"]]));
    });

    test("a task that two workers have not survived is poison, and the others go on", async () => {
      const batch = await submit([task("bad"), task("good")]);
      for (let death = 0; death < 2; death++) {
        expect((await claimed(batch)).task.key).toBe("bad");
        await expire(batch, "bad");
      }
      const good = await claimed(batch);
      expect(await store.claim(worker(), batch)).toEqual({ isOver: false });
      await store.end(good, exit(0));
      expect(await store.claim(worker(), batch)).toEqual({ isOver: true });
      expect(await outcomes(batch)).toEqual({ bad: "poison", good: "done" });
      const [bad] = await resultsOf(store, batch);
      expect(bad?.attempts.map(({ kind, error }) => [kind, error?.code])).toEqual([
        ["lost", "worker_lost"],
        ["lost", "worker_lost"],
      ]);
      expect(bad && rowOf(bad).error?.message).toStartWith("Two workers died or went silent while running it, on ");
    });

    test("a task waits for those that it names, and is skipped when one of them is not done", async () => {
      const tasks = [task("c", { after: ["a", "b"] }), task("a"), task("b"), task("e", { after: ["d"] })];
      const batch = await submit([...tasks, task("d", { after: ["bad"] }), task("bad")], { keepGoing: true });
      const keys: string[] = [];
      for (;;) {
        const claim = await store.claim(worker(), batch);
        if (!("task" in claim)) break;
        keys.push(claim.task.key);
        await store.end(claim, exit(claim.task.key === "bad" ? 3 : 0));
      }
      expect(keys.sort()).toEqual(["a", "b", "bad", "c"]);
      expect(await outcomes(batch)).toEqual({
        a: "done",
        b: "done",
        c: "done",
        bad: "failed",
        d: "skipped",
        e: "skipped",
      });
    });

    test("after a failure nothing begins, what runs may end, and a retry goes on with the rest", async () => {
      const batch = await submit([task("a"), task("b"), task("c")]);
      const [a, b] = [await claimed(batch), await claimed(batch)];
      await store.end(a, exit(8));
      expect(await store.claim(worker(), batch)).toEqual({ isOver: false });
      expect(await store.end(b, exit(0))).toMatchObject({ outcome: "done" });
      expect(await store.claim(worker(), batch)).toEqual({ isOver: true });
      expect(await outcomes(batch)).toEqual({ a: "failed", b: "done", c: "queued" });
      expect(await store.retry(batch, { outcomes: ["failed"] })).toBe(1);
      expect((await claimed(batch)).attempt).toBe(2);
      expect((await claimed(batch)).task.key).toBe("c");
    });

    test("a batch that keeps going begins other tasks after a failure", async () => {
      const batch = await submit([task("a"), task("b")], { keepGoing: true });
      await store.end(await claimed(batch), exit(8));
      expect((await claimed(batch)).task.key).toBe("b");
    });

    test("a cancelled batch settles what waits at once and what runs at its end", async () => {
      const batch = await submit([task("a"), task("b"), task("c", { after: ["b"] })]);
      const who = worker();
      const claim = await claimed(batch, who);
      expect(await store.cancel(batch)).toBe(3);
      expect(await store.keep(who, new Map([[claim, nothing]]))).toEqual(new Map([[claim, "cancelled"]]));
      expect(await store.end(claim, { ...exit(143), kind: "stopped" })).toMatchObject({ outcome: "cancelled" });
      expect(await outcomes(batch)).toEqual({ a: "cancelled", b: "cancelled", c: "cancelled" });
      expect(await store.claim(worker(), batch)).toEqual({ isOver: true });
      expect(await store.retry(batch, { outcomes: ["cancelled"], keys: ["b"] })).toBe(1);
      expect((await claimed(batch)).task.key).toBe("b");
    });

    test("a cancelled batch needs no worker with the labels of the one that has died", async () => {
      const batch = await submit([task("a", { labels: ["x"] })]);
      const dead = Bun.spawn(["true"]);
      await dead.exited;
      await claimed(batch, { ...worker(["x"]), ...thisProcess(), pid: dead.pid, started: "" });
      await store.cancel(batch);
      await expire(batch, "a");
      expect(await store.claim(worker(), batch)).toEqual({ isOver: true });
      expect(await outcomes(batch)).toEqual({ a: "cancelled" });
    });

    test("a retry also queues what was skipped because of the task", async () => {
      const tasks = [task("a"), task("b", { after: ["a"] }), task("c", { after: ["b"] }), task("x")];
      const batch = await submit([...tasks, task("y", { after: ["x"] })], { keepGoing: true });
      await store.end(await claimed(batch), exit(5));
      await store.end(await claimed(batch), exit(8));
      expect(await store.retry(batch, { outcomes: ["limit"] })).toBe(3);
      expect(await outcomes(batch)).toEqual({ a: "queued", b: "waiting", c: "waiting", x: "failed", y: "skipped" });
      for (const key of ["a", "b", "c"]) {
        const claim = await claimed(batch);
        expect(claim.task.key).toBe(key);
        await store.end(claim, exit(0));
      }
    });

    test("a task that was given back begins again when the one that it waits for is retried and done", async () => {
      const batch = await submit([task("a"), task("b", { after: ["a"] }), task("c")]);
      await store.end(await claimed(batch), exit(0));
      const [one, other] = [await claimed(batch), await claimed(batch)];
      const [b, c] = one.task.key === "b" ? [one, other] : [other, one];
      await store.end(c, exit(3));
      await store.end(b, { ...exit(143), kind: "stopped" });
      await store.retry(batch, { outcomes: ["done"], keys: ["a"] });
      expect(await outcomes(batch)).toEqual({ a: "queued", b: "waiting", c: "failed" });
      await store.end(await claimed(batch), exit(0));
      await store.end(await claimed(batch), exit(0));
      expect(await outcomes(batch)).toEqual({ a: "done", b: "done", c: "failed" });
    });

    test("a task that reached a limit goes on from its checkpoints when it is retried", async () => {
      const batch = await submit([task("a")]);
      const claim = await claimed(batch);
      const part = { version: 1, from: 0, items: bytes("items"), patch: bytes("patch") };
      expect(await store.checkpoint(claim, part)).toBe(true);
      expect(await store.checkpoint(claim, { ...part, from: 3, patch: bytes("newer") })).toBe(true);
      await store.end(claim, exit(5));
      await store.retry(batch, { outcomes: ["limit"] });
      const again = await claimed(batch);
      expect(again.resumes).toBe(true);
      const found = await store.checkpoints(again);
      expect(found.map(({ from, items, patch }) => [from, text(items), text(patch)])).toEqual([
        [0, "items", ""],
        [3, "items", "newer"],
      ]);
      await store.end(again, exit(0));
      expect(await store.checkpoints(again)).toEqual([]);
      expect(await store.checkpoint(again, part)).toBe(false);
    });

    test("a worker takes only tasks whose labels it has", async () => {
      const batch = await submit([task("a", { labels: ["gpu", "big"] }), task("b", { labels: ["gpu"] }), task("c")]);
      expect((await claimed(batch, worker(["big"]))).task.key).toBe("c");
      expect((await claimed(batch, worker(["gpu"]))).task.key).toBe("b");
      expect(await store.claim(worker(["gpu"]), batch)).toEqual({ isOver: false });
      expect(await store.missingLabels(worker(["gpu"]), batch)).toEqual(["big"]);
      expect(await store.missingLabels(worker())).toContain("gpu");
      expect((await claimed(batch, worker(["big", "gpu", "x"]))).task.key).toBe("a");
    });

    test("a worker of any batch finishes the oldest one first", async () => {
      const [one, two] = [await submit([task("a")]), await submit([task("b")])];
      const label = newBatchId();
      const keys: string[] = [];
      for (let claims = 0; claims < 500 && !keys.includes(two); claims++) {
        const claim = await store.claim(worker([label]));
        if (!("task" in claim)) break;
        keys.push(claim.batch);
        await store.end(claim, exit(0));
      }
      expect(keys.indexOf(one)).toBeGreaterThan(-1);
      expect(keys.indexOf(one)).toBeLessThan(keys.indexOf(two));
    });

    test("what is said of an end may have any characters", async () => {
      const batch = await submit([task("a")]);
      const who = worker();
      const claim = await claimed(batch, who);
      const message = "zero \0, escape \u001b[31m, half \ud800";
      await store.leave(who, message);
      expect((await store.overview(batch)).workers[0]?.left).toStartWith("zero , escape [31m, half ");
      await store.end(claim, { ...exit(3), error: { code: "a", message } });
      expect((await resultsOf(store, batch))[0]?.attempts[0]?.error?.message).toStartWith("zero \0, escape \u001b[31m");
    });

    test("results come in the order of the list with everything that attempts have left", async () => {
      const tasks = Array.from({ length: 450 }, (_, at) => task(`t${at}`));
      const batch = await submit(tasks);
      const claim = await claimed(batch);
      const end: AttemptEnd = {
        ...exit(0, 5),
        session: "s",
        result: { text: "hi", nested: [1] },
        published: { branch: "b", commit: "c" },
        patch: new Uint8Array([0, 255, 10]),
      };
      await store.end(claim, end);
      const results = await resultsOf(store, batch);
      expect(results.map(({ key }) => key)).toEqual(tasks.map(({ key }) => key));
      expect(results[0]).toMatchObject({
        state: "done",
        session: "s",
        result: { text: "hi", nested: [1] },
        hasPatch: true,
        durationMs: 1,
        published: { branch: "b", commit: "c" },
        spent: { costUsd: 5, tokens: 500 },
      });
      expect(await store.patch(batch, "t0")).toEqual(new Uint8Array([0, 255, 10]));
      expect(await store.patch(batch, "t1")).toBeUndefined();
    });

    test("a prefix is enough for the id of a batch, if it is the only one", async () => {
      const batch = await submit([task("a")]);
      expect(await store.find(batch.slice(0, -1))).toBe(batch);
      expect(store.find("nowhere")).rejects.toMatchObject({ code: "batch_not_found" });
      expect(store.overview("nowhere")).rejects.toMatchObject({ code: "batch_not_found" });
      expect(store.find("")).rejects.toMatchObject({ code: "batch_not_found" });
    });

    test("a second batch with the same id is refused, and nothing of it stored", async () => {
      const batch = await submit([task("a")]);
      expect(store.submit(batch, defaults, [task("b")])).rejects.toThrow();
      expect(await outcomes(batch)).toEqual({ a: "queued" });
    });

    test("attempts share a budget: each gets a part, and more as long as there is some", async () => {
      const batch = await submit([task("a", { maxCost: 6 }), task("b", { maxCost: 6 }), task("c")], { maxCost: 10 });
      const a = await claimed(batch);
      const b = await claimed(batch);
      expect([a.grant, b.grant]).toEqual([{ costUsd: 6 }, { costUsd: 4 }]);
      expect(await store.claim(worker(), batch)).toEqual({ isOver: false });
      expect(await store.grantMore(b, { costUsd: 4, tokens: 0 })).toBeUndefined();
      await store.end(a, exit(0, 1));
      expect(await store.grantMore(b, { costUsd: 4, tokens: 0 })).toEqual({ costUsd: 2 });
      await store.end(b, exit(0, 6));
      const c = await claimed(batch);
      expect(c.grant).toEqual({ costUsd: 3 });
      expect(await store.end(c, { ...exit(5, 3), kind: "budget" })).toMatchObject({ outcome: "limit" });
      expect(await store.overview(batch)).toMatchObject({ spent: { costUsd: 10 }, reserved: { costUsd: 0 } });
    });

    test("a run that could not send its next request gets more each time, until nothing is left", async () => {
      const batch = await submit([task("a"), task("b")], { maxCost: 1 });
      await store.end(await claimed(batch), exit(0, 0.1));
      const b = await claimed(batch);
      const more = () => store.grantMore(b, { costUsd: 0, tokens: 5 });
      const grants = [b.grant, await more(), await more(), await more(), await more()];
      expect(grants.map((grant) => grant?.costUsd?.toFixed(1))).toEqual(["0.2", "0.4", "0.8", "0.9", undefined]);
    });

    test("the end of a task has the cost of all its attempts, which is unknown when that of one is", async () => {
      const batch = await submit([task("a"), task("b", { after: ["a"] })]);
      const unpriced = (tokens: number) => ({ costUsd: 0, tokens, isUnpriced: true });
      const first = await claimed(batch);
      await store.keep(worker(), new Map([[first, unpriced(5)]]));
      expect((await store.overview(batch)).spent).toEqual(unpriced(5));
      await store.end(first, { ...exit(1), spent: unpriced(7) });
      const spent = { costUsd: 2, tokens: 207, isUnpriced: true };
      expect(await store.end(await claimed(batch), exit(0, 2))).toMatchObject({ outcome: "done", spent });
      await store.end(await claimed(batch), exit(0, 1));
      const rows = (await resultsOf(store, batch)).map(rowOf);
      expect(rows.map(({ cost_usd: cost, tokens }) => [cost, tokens])).toEqual([
        [null, 207],
        [1, 100],
      ]);
      expect(rows[0]?.attempts.map(({ cost_usd: cost }) => cost)).toEqual([null, 2]);
      expect((await store.overview(batch)).spent).toEqual({ costUsd: 3, tokens: 307, isUnpriced: true });
    });

    test("when the budget is spent nothing begins, and what is left stays in the list", async () => {
      const batch = await submit([task("a"), task("b")], { maxCost: 1, keepGoing: true });
      await store.end(await claimed(batch), exit(0, 1));
      expect(await store.claim(worker(), batch)).toEqual({ isOver: true });
      expect(await store.overview(batch)).toMatchObject({ state: "budget", counts: { done: 1, queued: 1 } });
    });

    test(`random workers settle each task once and account for every attempt: ${walks} batches`, async () => {
      for (let seed = firstSeed; seed < firstSeed + walks; seed++)
        expect({ seed, problems: await walkFleet({ store, ...under, expire, seed }) }).toEqual({ seed, problems: [] });
    }, 600_000);

    test(`fifty workers at once keep to a budget and use it up: ${trials} times`, async () => {
      for (let seed = firstSeed; seed < firstSeed + trials; seed++) {
        const { spent, maxCost, mostSpent, state, done } = await spendTogether(store, under.leaseMs, seed);
        expect(spent).toBeLessThanOrEqual(mostSpent);
        expect(spent).toBeGreaterThan(maxCost * 0.9);
        expect(state).toBe("budget");
        // Most of it was spent on what got to its end.
        expect(done).toBeGreaterThan(10);
      }
    }, 600_000);

    test("a batch whose budget a silent worker has spent ends when its task is found", async () => {
      const batch = await submit([task("a", { maxTokens: 100 }), task("b")], { maxTokens: 100 });
      await claimed(batch);
      await under.silence(batch, "a");
      expect(await store.claim(worker(), batch)).toEqual({ isOver: false });
      await under.lapse(batch, "a");
      expect(await store.claim(worker(), batch)).toEqual({ isOver: true });
      expect(await store.overview(batch)).toMatchObject({ state: "budget", counts: { running: 0, queued: 2 } });
    });

    test("a batch whose budget is spent ends when what was lost is behind what waits", async () => {
      const half = { maxTokens: 100 };
      const batch = await submit([task("a", half), task("b", half)], { maxTokens: 200 });
      const a = await claimed(batch);
      await claimed(batch);
      // It has begun, so it comes first.
      await store.end(a, { ...exit(143, 1), kind: "stopped" });
      await expire(batch, "b");
      while (!isOver(await store.claim(worker(), batch)));
      expect(await store.overview(batch)).toMatchObject({ state: "budget", counts: { running: 0, queued: 2 } });
    });

    test("a cancelled batch ends when a worker is lost whose money others needed before", async () => {
      const tasks = [task("a", { maxTokens: 100, labels: ["x"] }), task("b")];
      const batch = await submit(tasks, { maxTokens: 100 });
      await claimed(batch, worker(["x"]));
      await under.silence(batch, "a");
      expect(await store.claim(worker(), batch)).toEqual({ isOver: false });
      await store.cancel(batch);
      await under.lapse(batch, "a");
      expect(await store.claim(worker(["x"]), batch)).toEqual({ isOver: true });
      expect(await outcomes(batch)).toEqual({ a: "cancelled", b: "cancelled" });
    });

    test("tasks that have spent nothing do not make those after them too cheap to begin", async () => {
      const free = Array.from({ length: 9 }, (_, at) => task(`k${at}`));
      const batch = await submit([...free, task("a"), task("b")], { maxTokens: 1000, keepGoing: true });
      for (const _ of free) await store.end(await claimed(batch), exit(3));
      await store.end(await claimed(batch), { ...exit(0), spent: { costUsd: 0, tokens: 4 } });
      expect((await claimed(batch)).grant.tokens).toBe(1);
    });

    test("a batch that gets a budget has spent what it has spent before", async () => {
      const batch = await submit([task("a"), task("b"), task("c")]);
      await store.end(await claimed(batch), exit(0, 1));
      const running = await claimed(batch);
      await store.amend(batch, { maxTokens: 250 });
      await store.end(running, exit(0, 1));
      expect((await claimed(batch)).grant.tokens).toBe(50);
      await store.amend(batch, { maxTokens: 300 });
      expect((await store.overview(batch)).reserved.tokens).toBe(50);
    });

    test("a batch that is out of budget goes on with a larger one", async () => {
      const batch = await submit([task("a"), task("b")], { maxCost: 1 });
      await store.end(await claimed(batch), exit(0, 1));
      expect(await store.claim(worker(), batch)).toEqual({ isOver: true });
      await store.amend(batch, { maxCost: 2, keepGoing: true });
      expect(await store.overview(batch)).toMatchObject({ settings: { maxCost: 2, keepGoing: true, retries: 3 } });
      await store.retry(batch, { outcomes: ["failed"], keys: [] });
      const claim = await claimed(batch);
      expect([claim.task.key, claim.settings.maxCost]).toEqual(["b", 2]);
      await store.end(claim, exit(0, 1));
      expect(await outcomes(batch)).toEqual({ a: "done", b: "done" });
      expect(store.amend("nope", {})).rejects.toMatchObject({ code: "batch_not_found" });
    });

    test("a lost attempt is charged what it could have spent, until it says what it has", async () => {
      const batch = await submit([task("a", { maxCost: 4 })], { maxCost: 10 });
      const first = await claimed(batch);
      await expire(batch, "a");
      const second = await claimed(batch);
      expect((await store.overview(batch)).spent.costUsd).toBe(4);
      await store.end(first, exit(143, 1));
      await store.end(second, exit(0, 2));
      expect((await store.overview(batch)).spent.costUsd).toBe(3);
    });
  });
}

/** KODA_SEQUENCES=1000 tries more of them, and KODA_SEED begins with another one. */
const sequences = process.env.KODA_SEQUENCES === undefined ? undefined : Number(process.env.KODA_SEQUENCES);
const trials = sequences ?? 2;
const firstSeed = Number(process.env.KODA_SEED ?? 1);

const isOver = (found: TaskClaim | Idle) => "isOver" in found && found.isOver;
const nothing = { costUsd: 0, tokens: 0 };
const bytes = (value: string) => new TextEncoder().encode(value);
const text = (value: Uint8Array | undefined) => new TextDecoder().decode(value);
