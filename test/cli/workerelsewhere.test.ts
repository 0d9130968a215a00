import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { SQL } from "bun";
import { openFleet } from "../../lib/fleet/open.ts";
import {
  database,
  makeRepository,
  processesOf,
  resultsOf,
  startWorker,
  submit,
  taskOf,
} from "../support/fleetplace.ts";
import { call, say, silence } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";
import { missingPostgres, type PostgresServer, startPostgres } from "../support/postgres.ts";
import { until } from "../support/until.ts";

const why = missingPostgres === undefined ? "" : ` (${missingPostgres})`;

describe.skipIf(missingPostgres !== undefined)(`with PostgreSQL${why}`, () => {
  let postgres: PostgresServer;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(async () => await postgres[Symbol.asyncDispose]());

  test("what a worker has done for ten seconds is not lost when its machine is", async () => {
    await using place = makePlace();
    await using other = makePlace();
    const repo = makeRepository(place, { "a.txt": "one\n" });
    const answers = [
      call("Bash", { command: "echo new > new.txt; sleep 10.5", description: "Work for a while" }),
      call("Bash", { command: "true", description: "Go on" }),
      silence(),
      say("Done elsewhere."),
    ];
    await using server = await startModelServer((_, index) => answers[index]);
    const url = await postgres.create();
    await using store = await openFleet({ url, path: database(place), role: "client", note: () => {} });
    const batch = await submit(store, [taskOf(server, { key: "a", repo })], { leaseMs: 10_000 });

    const first = startWorker(place, [], { KODA_STORE: url });
    for (const _ of answers.slice(1)) await server.nextRequest();
    await using sql = new SQL(url, { max: 1 });
    await until(async () => (await sql`SELECT 1 FROM koda.batch_checkpoint`).length > 0);
    first.child.kill("SIGKILL");
    await first.child.exited;
    // As if the time of its lease were over.
    await sql`UPDATE koda_boss.job SET heartbeat_on = now() - interval '1 hour'`;

    const second = startWorker(other, ["--once"], { KODA_STORE: url });
    expect(await second.until("task.end")).toMatchObject({ outcome: "done", attempts: 2 });
    expect(await second.exit()).toBe(0);
    expect(second.events.map(({ type }) => type)).toEqual(["task.start", "task.end", "worker.stop"]);
    expect(server.requests).toHaveLength(4);
    expect(server.requests[3]?.raw).toContain("echo new > new.txt");
    const { a } = await resultsOf(store, batch);
    expect(a).toMatchObject({ session: `${batch}.a`, attempts: [{ kind: "lost" }, { kind: "settled" }] });
    expect(new TextDecoder().decode(await store.patch(batch, "a"))).toContain("+++ b/new.txt");
    expect([...processesOf(place), ...processesOf(other)]).toEqual([]);
  }, 90_000);
});
