import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { SQL } from "bun";
import { LocalQueue } from "../../lib/fleet/local/localqueue.ts";
import { SqliteFleet } from "../../lib/fleet/local/sqlite.ts";
import { BossQueue } from "../../lib/fleet/postgres/bossqueue.ts";
import { Connections } from "../../lib/fleet/postgres/connections.ts";
import { Outages } from "../../lib/fleet/postgres/outage.ts";
import { PostgresFleet } from "../../lib/fleet/postgres/postgres.ts";
import { parsePostgresUrl } from "../../lib/fleet/postgres/postgresaddress.ts";
import { openRemoteFleet } from "../../lib/fleet/postgres/remote.ts";
import { openLocalFleet } from "../../lib/fleet/local/local.ts";
import { SqlStore } from "../../lib/fleet/store/sqlstore.ts";
import type { BatchSettings, FleetStore, TaskClaim, TaskOutcome } from "../../lib/fleet/store.ts";
import type { FleetTask } from "../../lib/fleet/task.ts";
import { openDatabase } from "../../lib/session/schema.ts";
import { DatabaseOfMoments } from "../support/fleetmoments.ts";
import { defaults, exit, isClaim, newBatchId, resultsOf, task, worker } from "../support/fleettasks.ts";
import { makePlace } from "../support/place.ts";
import { missingPostgres, type PostgresServer, startPostgres } from "../support/postgres.ts";
import { until } from "../support/until.ts";

/** Two processes with one store: `own` comes to a moment at which `other` does something. */
type Two = AsyncDisposable & { own: FleetStore; moments: DatabaseOfMoments; other: FleetStore };

const stopped = { ...exit(143), kind: "stopped" } as const;
const usual: readonly TaskOutcome[] = ["failed", "poison", "cancelled", "skipped"];

test("in SQLite, a worker that has looked at a halted batch takes its tasks when it goes on meanwhile", async () => {
  await using two = await twoLocal();
  await goOnAtLook(two);
});

const why = missingPostgres === undefined ? "" : ` (${missingPostgres})`;
describe.skipIf(missingPostgres !== undefined)(`in PostgreSQL${why}`, () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(async () => await server[Symbol.asyncDispose]());

  test.concurrent("a worker that has looked at a halted batch takes its tasks when it goes on meanwhile", async () => {
    await using two = await twoRemote(await server.create());
    await goOnAtLook(two);
  });

  test.concurrent("a task that is given back while its batch goes on is in the queue", async () => {
    await using two = await twoRemote(await server.create());
    const batch = await submit(two.own, [task("a"), task("b")]);
    const [a, b] = [await claimed(two.own, batch), await claimed(two.own, batch)];
    await two.own.end(b, exit(3));
    const retried = whileCommitting(two, () => two.other.retry(batch, { outcomes: usual }));
    await two.own.end(a, stopped);
    await retried();
    expect(await claimAll(two.other, batch)).toEqual(["a", "b"]);
  });

  test.concurrent("a task that is given back while its batch is cancelled is cancelled", async () => {
    await using two = await twoRemote(await server.create());
    const batch = await submit(two.own, [task("a")]);
    const a = await claimed(two.own, batch);
    two.moments.once(/SET state = 'queued'/, () => two.other.cancel(batch));
    await two.own.end(a, stopped);
    expect(await two.other.overview(batch)).toMatchObject({ state: "cancelled", counts: { queued: 0, cancelled: 1 } });
  });

  test.concurrent("a task that is cancelled while a worker takes it is not queued twice later", async () => {
    await using two = await twoRemote(await server.create());
    const batch = await submit(two.own, [task("a")]);
    two.moments.once(/SET state = 'running'/, () => two.other.cancel(batch));
    expect(isClaim(await two.own.claim(worker(), batch))).toBe(false);
    await two.other.retry(batch, { outcomes: usual });
    expect(await claimAll(two.other, batch)).toEqual(["a"]);
  });

  test.concurrent("a task that is cancelled while a worker that dies takes it is not queued twice later", async () => {
    await using two = await twoRemote(await server.create());
    const batch = await submit(two.own, [task("a")]);
    two.moments.once(/SET state = 'running'/, async () => {
      await two.other.cancel(batch);
      throw new Error("the worker is killed");
    });
    await expect(two.own.claim(worker(), batch)).rejects.toThrow("the worker is killed");
    await two.other.retry(batch, { outcomes: usual });
    expect(await claimAll(two.other, batch)).toEqual(["a"]);
  });

  test.concurrent("a batch whose last task ends while another one is retried is not over", async () => {
    await using two = await twoRemote(await server.create());
    const batch = await submit(two.own, [task("a"), task("b")], { keepGoing: true });
    const [a, b] = [await claimed(two.own, batch), await claimed(two.own, batch)];
    await two.own.end(a, exit(3));
    const ended = whileCommitting(two, () => two.other.end(b, exit(0)));
    await two.own.retry(batch, { outcomes: usual });
    await ended();
    expect(await claimAll(two.other, batch)).toEqual(["a"]);
  });

  for (const [what, first, second] of [
    ["the budget of a batch that gets one while a task ends counts that task", "end", "amend"],
    ["a task that ends while its batch gets a budget is counted", "amend", "end"],
  ] as const)
    test.concurrent(what, async () => {
      await using two = await twoRemote(await server.create());
      const batch = await submit(two.own, [task("a"), task("b")]);
      const a = await claimed(two.own, batch);
      const act = (store: FleetStore, how: "end" | "amend") =>
        how === "end" ? store.end(a, exit(0, 1)) : store.amend(batch, { maxTokens: 150 });
      const acted = whileCommitting(two, () => act(two.other, second));
      await act(two.own, first);
      await acted();
      expect((await claimed(two.own, batch)).grant.tokens).toBe(50);
    });

  test.concurrent("a task is skipped when it is retried while another one that it waits for fails", async () => {
    await using two = await twoRemote(await server.create());
    const list = [task("a"), task("b"), task("c", { after: ["a", "b"] })];
    const batch = await submit(two.own, list, { keepGoing: true });
    const [a, b] = [await claimed(two.own, batch), await claimed(two.own, batch)];
    await two.own.end(a, exit(3));
    const retried = whileCommitting(two, () => two.other.retry(batch, { outcomes: ["failed"], keys: ["a"] }));
    await two.own.end(b, exit(3));
    await retried();
    expect((await two.own.overview(batch)).counts).toMatchObject({ queued: 1, waiting: 0, failed: 1, skipped: 1 });
  });

  test.concurrent("a checkpoint that comes while its attempt ends is refused", async () => {
    await using two = await twoRemote(await server.create());
    const batch = await submit(two.own, [task("a")]);
    const a = await claimed(two.own, batch);
    two.moments.once(/INSERT INTO batch_checkpoint/, () => two.other.end(a, exit(5)));
    const nothing = new Uint8Array();
    expect(await two.own.checkpoint(a, { version: 1, from: 1, items: nothing, patch: nothing })).toBe(false);
    expect(await two.own.checkpoints(a)).toEqual([]);
  });

  test.concurrent("an attempt that is taken for lost while its worker ends it is charged once", async () => {
    await using two = await twoRemote(await server.create());
    const batch = await submit(two.own, [task("a"), task("b", { after: ["a"] })]);
    const a = await claimed(two.own, batch);
    await two.own.amend(batch, { maxTokens: 1000 });
    await two.own.keep(worker(), new Map([[a, exit(0, 1).spent]]));
    await lose(two.other, a);
    const ended = whileCommitting(two, () => two.other.end(a, exit(0, 1)));
    await two.own.end(await claimed(two.own, batch), exit(0, 1));
    expect(await ended()).toEqual({ kind: "superseded" });
    expect((await claimed(two.own, batch)).grant.tokens).toBe(400);
  });

  test.concurrent("a task that begins and ends while its batch gets a budget is counted", async () => {
    await using two = await twoRemote(await server.create());
    const batch = await submit(two.own, [task("a"), task("b")]);
    two.moments.once(/^COMMIT$/, async () => await two.other.end(await claimed(two.other, batch), exit(0, 1)));
    await two.own.amend(batch, { maxTokens: 150 });
    expect((await claimed(two.own, batch)).grant.tokens).toBe(50);
  });

  test.concurrent("two workers keep to the budget that their batch gets while they look for a task", async () => {
    await using two = await twoRemote(await server.create());
    const batch = await submit(two.own, [task("a", { maxTokens: 10 }), task("b", { maxTokens: 10 })]);
    two.moments.once(/paused_until >/, async () => {
      await two.other.amend(batch, { maxTokens: 10 });
      two.moments.once(/SET state = 'running'/, () => claimed(two.other, batch));
    });
    await two.own.claim(worker(), batch);
    two.moments.at = () => undefined;
    await two.own.claim(worker(), batch);
    expect((await two.own.overview(batch)).reserved.tokens).toBe(10);
  });

  test.concurrent("a task that is released while it is retried waits for what is still to do", async () => {
    await using two = await twoRemote(await server.create());
    const list = [task("a"), task("c"), task("b", { after: ["a", "c"] })];
    const batch = await submit(two.own, list, { keepGoing: true });
    const [a, c] = [await claimed(two.own, batch), await claimed(two.own, batch)];
    await two.own.end(c, exit(3));
    const retried = whileCommitting(two, () => two.other.retry(batch, { outcomes: usual }));
    await two.own.end(a, exit(0));
    await retried();
    await two.own.end(await claimed(two.own, batch), exit(0));
    expect(await claimAll(two.other, batch)).toEqual(["b"]);
  });
});

/** A task has failed and one runs. */
async function goOnAtLook({ own, other, moments }: Two): Promise<void> {
  const batch = await submit(own, [task("a"), task("b"), task("c")]);
  const [a, b] = [await claimed(own, batch), await claimed(own, batch)];
  await own.end(b, exit(3));
  moments.once(/paused_until >/, () => other.retry(batch, { outcomes: ["failed"], keys: [] }));
  expect((await claimed(own, batch)).task.key).toBe("c");
  await own.end(a, exit(0));
}

/**
 * The other one acts when the next transaction of the first is about to be committed, and that is held up until the
 * other one is done or waits for it. Returns what waits for its end.
 */
function whileCommitting({ moments, other }: Two, act: () => Promise<unknown>): () => Promise<unknown> {
  let acting: Promise<unknown> | undefined;
  moments.once(/^COMMIT$/, async () => {
    let isDone = false;
    acting = act().finally(() => (isDone = true));
    acting.catch(() => {});
    await until(async () => isDone || (await isBlocked(other)), "the other one to be done or to wait");
  });
  return async () => await acting;
}

/** As if the queue had noticed that the lease is over. */
async function lose(store: FleetStore, { ticket }: TaskClaim): Promise<void> {
  await using sql = new SQL(urls.get(store) ?? "", { max: 1 });
  await sql`UPDATE koda_boss.job SET state = 'retry' WHERE id = ${ticket.job.split(" ")[0]}`;
}

const urls = new WeakMap<FleetStore, string>();

async function isBlocked(store: FleetStore): Promise<boolean> {
  await using sql = new SQL(urls.get(store) ?? "", { max: 1 });
  const waiting = await sql`SELECT 1 FROM pg_stat_activity
    WHERE wait_event_type = 'Lock' AND datname = current_database()`;
  return waiting.length > 0;
}

async function submit(store: FleetStore, list: readonly FleetTask[], settings: Partial<BatchSettings> = {}) {
  const batch = newBatchId();
  await store.submit(batch, { ...defaults, ...settings }, list);
  return batch;
}

async function claimed(store: FleetStore, batch: string): Promise<TaskClaim> {
  const claim = await store.claim(worker(), batch);
  if (!isClaim(claim)) throw new Error(`nothing to claim: ${JSON.stringify(await resultsOf(store, batch))}`);
  return claim;
}

/** The keys of all that may begin, in their order. */
async function claimAll(store: FleetStore, batch: string): Promise<string[]> {
  const keys: string[] = [];
  for (;;) {
    const claim = await store.claim(worker(), batch);
    if (!isClaim(claim)) return keys.sort();
    keys.push(claim.task.key);
  }
}

async function twoLocal(): Promise<Two> {
  const place = makePlace();
  const path = join(place.home, "koda.db");
  const moments = new DatabaseOfMoments(new SqliteFleet(openDatabase(path)));
  const [own, other] = [new SqlStore(moments, new LocalQueue(moments)), openLocalFleet(path)];
  const end = async () => {
    for (const each of [own, other, place]) await each[Symbol.asyncDispose]();
  };
  return { own, other, moments, [Symbol.asyncDispose]: end };
}

async function twoRemote(url: string): Promise<Two> {
  const options = { role: "worker", note: () => {} } as const;
  const other = await openRemoteFleet(url, options);
  urls.set(other, url);
  const address = parsePostgresUrl(url);
  const connect = (most: number) => new Connections(address, { most });
  const outages = new Outages(address, { ms: 10_000, note: options.note });
  const moments = new DatabaseOfMoments(new PostgresFleet(connect(2), outages));
  const queue = new BossQueue(moments, { connections: connect(1), supervises: false, note: options.note });
  const own = new SqlStore(moments, queue);
  const end = async () => {
    for (const each of [own, other]) await each[Symbol.asyncDispose]();
  };
  return { own, other, moments, [Symbol.asyncDispose]: end };
}
