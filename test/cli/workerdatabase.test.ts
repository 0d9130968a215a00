import { expect, test } from "bun:test";
import { openRemoteFleet } from "../../lib/fleet/postgres/remote.ts";
import { keyOf, listOf } from "../support/batch.ts";
import { resultsOf } from "../support/fleettasks.ts";
import { koda, start, using } from "../support/koda.ts";
import { say, wait } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";
import { missingPostgres, startPostgres } from "../support/postgres.ts";
import { startRelay } from "../support/relay.ts";
import { until } from "../support/until.ts";

const why = missingPostgres === undefined ? "" : ` (${missingPostgres})`;
const keys = Array.from({ length: 12 }, (_, at) => `k${at}`);

test.skipIf(missingPostgres !== undefined)(
  `workers lose nothing when their database crashes, and when the network of one of them is cut${why}`,
  async () => {
    await using postgres = await startPostgres();
    const url = await postgres.create();
    await using relay = await startRelay(`${postgres.directory}/.s.PGSQL.5432`);
    await using near = makePlace();
    await using far = makePlace();
    const goOn = Promise.withResolvers<void>();
    const asked = new Set<string>();
    await using server = await startModelServer((request) => {
      asked.add(keyOf(request));
      return [wait(goOn.promise), say("Done.")];
    });
    near.write("tasks.jsonl", listOf(keys.map((key) => ({ key }))));
    const env = { KODA_STORE: url };
    const submitted = await koda(near, ["batch", "submit", "tasks.jsonl", ...using(server)], { env });
    expect(submitted.stderr).toBe("");
    const flags = ["worker", "-j", "2", "--drain-after", "3s"];
    const workers = [
      start(near, flags, { env }),
      start(far, flags, { env: { KODA_STORE: url.replace(/@\/(\w+).*/, `@127.0.0.1:${relay.port}/$1`) } }),
    ];
    await until(() => asked.size === 4);
    // The far worker is told nothing: its connections stay as if they were there.
    relay.cut();
    await postgres.restart();
    relay.repair();
    goOn.resolve();

    for (const worker of workers) expect(await worker.exited).toBe(0);
    await using store = await openRemoteFleet(url, { role: "client", note: () => {} });
    const results = await resultsOf(store, submitted.stdout.trim());
    expect(results.map(({ key, state, attempts }) => [key, state, attempts.length])).toEqual(
      keys.map((key) => [key, "done", 1]),
    );
  },
  120_000,
);
