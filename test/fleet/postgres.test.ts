import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { SQL } from "bun";
import { Connections } from "../../lib/fleet/postgres/connections.ts";
import { parsePostgresUrl } from "../../lib/fleet/postgres/postgresaddress.ts";
import { openRemoteFleet, type RemoteOptions } from "../../lib/fleet/postgres/remote.ts";
import type { FleetStore } from "../../lib/fleet/store.ts";
import { defaults, exit, isClaim, newBatchId, resultsOf, task, worker } from "../support/fleettasks.ts";
import { startOldPostgres } from "../support/oldpostgres.ts";
import { guest, missingPostgres, type PostgresServer, startPostgres } from "../support/postgres.ts";
import { startRelay } from "../support/relay.ts";
import { until } from "../support/until.ts";

const why = missingPostgres === undefined ? "" : ` (${missingPostgres})`;

describe.skipIf(missingPostgres !== undefined)(`PostgreSQL${why}`, () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(async () => await server[Symbol.asyncDispose]());

  test("fifty workers at once get each of 500 tasks once", async () => {
    const url = await server.create();
    await using stores = await openMany(url, 50);
    const batch = await submit(stores.all, tasks(500));
    const keys = await Promise.all(stores.all.map((store) => carryOutAll(store, batch)));
    expect(keys.flat().sort()).toEqual(tasks(500).map(({ key }) => key));
    expect(await attempts(stores.all, batch)).toEqual(new Map([[1, 500]]));
  });

  test("a server that crashes and comes back in the middle loses nothing and repeats nothing", async () => {
    const url = await server.create();
    const notes: string[] = [];
    await using stores = await openMany(url, 6, { note: (text) => void notes.push(text) });
    const batch = await submit(stores.all, tasks(300));
    let done = 0;
    const work = stores.all.map(async (store) => carryOutAll(store, batch, { onEnd: () => done++ }));
    for (const at of [50, 100, 150, 200, 250]) {
      await until(() => done >= at);
      await server.restart();
    }
    expect((await Promise.all(work)).flat().sort()).toEqual(tasks(300).map(({ key }) => key));
    expect(await attempts(stores.all, batch)).toEqual(new Map([[1, 300]]));
    expect(notes.some((note) => note.includes("Trying again for 3m"))).toBe(true);
    expect(notes.some((note) => / is back after [\d.]+ m?s\.$/.test(note))).toBe(true);
  });

  test.concurrent(
    "a dead worker's task is another's within ten seconds of its lease, and a live one's stays",
    async () => {
      const url = await server.create();
      await using store = await openRemoteFleet(url, { role: "worker", note: () => {} });
      await store.submit("b", { ...defaults, leaseMs }, [task("dead"), task("live")]);
      const [dead, alive] = [worker(), worker()];
      const lost = await store.claim(dead, "b");
      const live = await store.claim(alive, "b");
      if (!isClaim(lost) || !isClaim(live)) throw new Error("no claim");

      await using sql = new SQL(url, { max: 1 });
      const started = performance.now() - goneMs;
      await sql`UPDATE koda_boss.job SET heartbeat_on = heartbeat_on - ${goneMs} * interval '1 millisecond'`;
      let again = await store.claim(alive, "b");
      for (; !isClaim(again); again = await store.claim(alive, "b")) {
        expect(await store.keep(alive, new Map([[live, { costUsd: 0, tokens: 0 }]]))).toEqual(
          new Map([[live, "held"]]),
        );
        await Bun.sleep(500);
      }
      const ms = performance.now() - started;
      expect(again).toMatchObject({ attempt: 2, resumes: true, task: { key: "dead" } });
      expect(ms).toBeGreaterThan(leaseMs - 1000);
      expect(ms).toBeLessThan(leaseMs + 11_000);
      expect(await store.keep(dead, new Map([[lost, { costUsd: 0, tokens: 0 }]]))).toEqual(new Map([[lost, "lost"]]));
    },
    60_000,
  );

  test.concurrent("a worker whose network is cut goes on when it is back, and keeps its task", async () => {
    const url = await server.create();
    await using relay = await startRelay(`${server.directory}/.s.PGSQL.5432`);
    const notes: string[] = [];
    await using store = await openWorker(throughRelay(url, relay.port), { note: (text) => void notes.push(text) });
    const batch = await submit([store], tasks(1));
    const who = worker();
    const claim = await store.claim(who, batch);
    if (!isClaim(claim)) throw new Error("no claim");

    relay.cut();
    const kept = store.keep(who, new Map([[claim, { costUsd: 1, tokens: 1 }]]));
    await until(() => notes.length > 0);
    expect(notes[0]).toContain("no answer for 3s");
    relay.repair();
    expect(await kept).toEqual(new Map([[claim, "held"]]));
    expect(await store.end(claim, exit(0))).toMatchObject({ kind: "settled", outcome: "done" });
  });

  test.concurrent("a commit whose answer was lost is not repeated", async () => {
    const url = await server.create();
    await using relay = await startRelay(`${server.directory}/.s.PGSQL.5432`);
    await using direct = await openWorker(url);
    const notes: string[] = [];
    await using store = await openWorker(throughRelay(url, relay.port), { note: (text) => void notes.push(text) });
    const batch = await submit([direct], tasks(1));
    const claim = await store.claim(worker(), batch);
    if (!isClaim(claim)) throw new Error("no claim");

    // With the byte that ends a statement: transactions begin as READ COMMITTED.
    relay.cutAfter("COMMIT\0");
    const ended = store.end(claim, exit(0));
    await until(() => notes.length > 0);
    relay.repair();
    expect(await ended).toMatchObject({ kind: "settled", outcome: "done" });
    const [result] = await resultsOf(direct, batch);
    expect(result?.attempts.map(({ kind }) => kind)).toEqual(["settled"]);
  });

  test.concurrent("a client that vanished in a transaction blocks others for a moment only", async () => {
    const url = await server.create();
    await using relay = await startRelay(`${server.directory}/.s.PGSQL.5432`);
    await using direct = await openWorker(url);
    const batch = await submit([direct], tasks(1), { maxCost: 1 });
    await using gone = new Connections(parsePostgresUrl(throughRelay(url, relay.port)), { most: 1, silenceMs: 1000 });
    const { run } = await gone.reserve();
    await run("BEGIN");
    await run("UPDATE batch SET finished = finished WHERE id = $1", [batch]);
    relay.cut();
    expect(isClaim(await direct.claim(worker(), batch))).toBe(true);
  });

  test.concurrent("any number of processes may be the first", async () => {
    const url = await server.create();
    const script = `
      const { openRemoteFleet } = await import(process.argv[1] + "/lib/fleet/postgres/remote.ts");
      const store = await openRemoteFleet(process.argv[2], { role: "worker", note: console.log });
      const settings = ${JSON.stringify(defaults)};
      const task = ${JSON.stringify(task("a"))};
      await store.submit(process.argv[3], settings, [task]);
      await store[Symbol.asyncDispose]();`;
    const ids = ["p0", "p1", "p2"];
    const exits = await Promise.all(
      ids.map(async (id) => {
        const child = Bun.spawn([process.execPath, "-e", script, process.cwd(), url, id], { stderr: "pipe" });
        return [await child.exited, await child.stdout.text(), await child.stderr.text()];
      }),
    );
    expect(exits).toEqual(ids.map(() => [0, "", ""]));
    await using store = await openWorker(url);
    expect((await store.batches(expect.unreachable)).map(({ id }) => id).sort()).toEqual(ids);
  });

  for (const [name, end] of [
    ["over", (store: FleetStore, batch: string) => carryOutAll(store, batch)],
    ["halted", (store: FleetStore, batch: string) => carryOutAll(store, batch, { code: 3 })],
    ["cancelled", (store: FleetStore, batch: string) => store.cancel(batch)],
  ] as const)
    test.concurrent(`queues of batches that have long been ${name} are deleted`, async () => {
      const url = await server.create();
      await using sql = new SQL(url, { max: 1 });
      const batch = newBatchId();
      {
        await using store = await openWorker(url);
        await store.submit(batch, defaults, [task("a")]);
        await end(store, batch);
        await sql`UPDATE koda.batch_queue SET closed_at = 1 WHERE closed_at IS NOT NULL`;
      }
      await using store = await openWorker(url);
      await store.submit(newBatchId(), defaults, [task("b")]);
      await until(async () => (await sql`SELECT 1 FROM koda_boss.queue WHERE name = ${batch}`).length === 0);
    });

  test.concurrent("queues of batches that have long been over are made again for a retry", async () => {
    const url = await server.create();
    await using sql = new SQL(url, { max: 1 });
    const queues = async () => (await sql`SELECT name FROM koda_boss.queue`).map(({ name }: { name: string }) => name);
    const batch = newBatchId();
    {
      await using store = await openWorker(url);
      await store.submit(batch, defaults, [task("a", { labels: ["gpu"] })]);
      await carryOutAll(store, batch, { code: 3 });
      expect(await queues()).toEqual([`${batch}/gpu`]);
      await sql`UPDATE koda.batch_queue SET closed_at = 1`;
    }
    await using store = await openWorker(url);
    await store.submit(newBatchId(), defaults, [task("b")]);
    await until(async () => !(await queues()).includes(`${batch}/gpu`));
    expect(await store.retry(batch, { outcomes: ["failed"] })).toBe(1);
    expect(await carryOutAll(store, batch)).toEqual(["a"]);
  });

  test("a task that is to be tried again while another one halts the batch is not left in the queue", async () => {
    const url = await server.create();
    await using stores = await openMany(url, 2);
    const [one, other] = stores.all;
    if (one === undefined || other === undefined) throw new Error("two stores were opened");
    const batches = Array.from({ length: 60 }, newBatchId);
    for (const batch of batches) {
      await one.submit(batch, defaults, [task("again"), task("halts")]);
      const [again, halts] = [await one.claim(worker(), batch), await other.claim(worker(), batch)];
      if (!isClaim(again) || !isClaim(halts)) throw new Error("no claim");
      await Promise.all([one.end(again, exit(1)), other.end(halts, exit(3))]);
    }
    await using sql = new SQL(url, { max: 1 });
    expect([...(await sql`SELECT name, data FROM koda_boss.job WHERE state < 'completed'`)]).toEqual([]);
    for (const batch of batches) {
      expect(await one.retry(batch, { outcomes: ["failed"] })).toBe(1);
      expect((await carryOutAll(other, batch)).sort()).toEqual(["again", "halts"]);
    }
  });

  test("a lease that pg-boss cannot keep is refused", async () => {
    await using store = await openWorker(await server.create());
    const submitted = store.submit(newBatchId(), { ...defaults, leaseMs: 5000 }, [task("a")]);
    await expect(submitted).rejects.toMatchObject({ code: "usage", message: expect.stringContaining("at least 10s") });
    expect(await store.batches(expect.unreachable)).toEqual([]);
  });

  describe("refuses, and says what to do,", () => {
    test("tables of a newer koda", async () => {
      const url = await server.create();
      await (await openWorker(url))[Symbol.asyncDispose]();
      await using sql = new SQL(url, { max: 1 });
      await sql`UPDATE koda.schema_version SET version = 99`;
      const error = await refusal(url);
      expect(error).toMatchObject({ code: "store", retryable: false });
      expect(error.message).toMatch(
        /its tables were made by a newer koda \(schema 99, this one knows \d+\)\. Update koda\.$/,
      );
    });

    test("a server that is too old", async () => {
      await using old = await startOldPostgres("12.22 (Debian 12.22-1)", "120022");
      const error = await refusal(`postgres://me@127.0.0.1:${old.port}/work`);
      expect(error).toMatchObject({ code: "store", retryable: false });
      expect(error.message).toBe(
        `Cannot use PostgreSQL at 127.0.0.1:${old.port}, database "work", user "me": its version is 12.22 (Debian ` +
          "12.22-1). koda needs PostgreSQL 13 or newer.",
      );
    });

    test("a server that is not there", async () => {
      const error = await refusal("postgres://me:secret@127.0.0.1:1/work");
      expect(error).toMatchObject({ code: "store", retryable: true });
      expect(error.message).toBe(
        'Cannot use PostgreSQL at 127.0.0.1:1, database "work", user "me": Failed to connect. Check that it runs and ' +
          "that this machine may connect to it.",
      );
    });

    test("a wrong password, without a word of it", async () => {
      const url = (await server.create()).replace("koda@", `${guest.user}:t0ps3cret@`);
      const error = await refusal(url);
      expect(error).toMatchObject({ code: "credentials", retryable: false });
      expect(error.message).toContain(`password authentication failed for user "guest". Check the user`);
      expect(Bun.inspect(error)).not.toContain("t0ps3cret");
    });

    test("a database that does not exist", async () => {
      const error = await refusal((await server.create()).replace(/test\d+/, "nowhere"));
      expect(error.message).toEndWith('database "nowhere" does not exist. Create it with createdb nowhere.');
    });

    test("a user who may not create a schema", async () => {
      const login = `${guest.user}:${encodeURIComponent(guest.password)}@`;
      const error = await refusal((await server.create()).replace("koda@", login));
      expect(error).toMatchObject({ code: "store", retryable: false });
      expect(error.message).toContain(`User "guest" needs the right CREATE on the database`);
    });

    for (const [url, problem] of [
      ["mysql://me:secret@host/work", 'its scheme is "mysql:"'],
      ["secret", 'its scheme is ""'],
      ["postgres://me:secret@host:99999/work", "it is not valid"],
      ["postgres://me:sec ret@ho st/work", "it is not valid"],
      ["postgres://me:secret@host/work?sslmode=secret", "it is not valid"],
      ["postgres://me:secret@host/%zz", "a part of it is not percent-encoded"],
    ] as const)
      test(`the URL ${url}`, async () => {
        const error = await refusal(url);
        expect(error).toMatchObject({ code: "usage" });
        const expected =
          "Expected postgres://USER@HOST:5432/DATABASE, with special characters in a password percent-encoded (@ is %40)";
        expect(error.message).toBe(`Cannot use this store URL: ${problem}. ${expected}`);
      });
  });
});

const leaseMs = 10_000;
/** As if so much of the leases were over. */
const goneMs = 7_000;

const patient: RemoteOptions = { role: "worker", note: () => {}, silenceMs: 3000 };

async function openWorker(url: string, options: Partial<RemoteOptions> = {}): Promise<FleetStore> {
  return await openRemoteFleet(url, { ...patient, ...options });
}

async function openMany(url: string, count: number, options: Partial<RemoteOptions> = {}) {
  const few = { silenceMs: 20_000, connections: 1, ...options };
  const all = await Promise.all(Array.from({ length: count }, () => openWorker(url, few)));
  return {
    all,
    async [Symbol.asyncDispose]() {
      for (const store of all) await store[Symbol.asyncDispose]();
    },
  };
}

async function refusal(url: string): Promise<Error> {
  const opened = openWorker(url);
  const error: unknown = await opened.then(
    () => new Error(`${url} was accepted`),
    (thrown: unknown) => thrown,
  );
  return error as Error;
}

function throughRelay(url: string, port: number): string {
  return url.replace(/@\/(\w+).*/, `@127.0.0.1:${port}/$1`);
}

function tasks(count: number) {
  return Array.from({ length: count }, (_, at) => task(`k${String(at).padStart(3, "0")}`));
}

async function submit([store]: readonly FleetStore[], list: ReturnType<typeof tasks>, settings = {}): Promise<string> {
  const batch = newBatchId();
  await store?.submit(batch, { ...defaults, ...settings }, list);
  return batch;
}

/** Claims and settles until there is nothing left; returns the keys. */
async function carryOutAll(
  store: FleetStore,
  batch: string,
  { code = 0, onEnd }: { code?: number; onEnd?: () => void } = {},
): Promise<string[]> {
  const keys: string[] = [];
  const who = worker(["gpu"]);
  for (;;) {
    const claim = await store.claim(who, batch);
    if (!isClaim(claim)) {
      if (claim.isOver) return keys;
      await Bun.sleep(50);
      continue;
    }
    expect(await store.end(claim, exit(code))).toMatchObject({ kind: "settled" });
    keys.push(claim.task.key);
    onEnd?.();
  }
}

/** How many tasks had how many attempts. */
async function attempts([store]: readonly FleetStore[], batch: string): Promise<Map<number, number>> {
  const results = store === undefined ? [] : await resultsOf(store, batch);
  const counts = Map.groupBy(results, ({ attempts: { length } }) => length);
  return new Map([...counts].map(([count, { length }]) => [count, length]));
}
