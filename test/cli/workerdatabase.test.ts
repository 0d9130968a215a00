import { expect, test } from "bun:test";
import { SQL } from "bun";
import { openFleet } from "../../lib/fleet/open.ts";
import { openRemoteFleet } from "../../lib/fleet/postgres/remote.ts";
import { keyOf, listOf } from "../support/batch.ts";
import {
  database,
  makeRepository,
  processesOf,
  resultsOf,
  startWorker,
  submit,
  taskOf,
} from "../support/fleetplace.ts";
import { binary, koda, start } from "../support/koda.ts";
import { call, say, silence, wait } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { missingNetwork, startNetwork } from "../support/network.ts";
import { makePlace } from "../support/place.ts";
import { missingPostgres, startPostgres } from "../support/postgres.ts";
import { spawnIn } from "../support/run.ts";
import { until } from "../support/until.ts";

const missing = missingPostgres ?? missingNetwork;
const whyNot = (reason: string | undefined) => (reason === undefined ? "" : ` (${reason})`);
// There is nothing else to do until these are done, so a worker that has two of them goes on asking for a third one.
const first = ["k0", "k1", "k2", "k3"];
const rest = Array.from({ length: 8 }, (_, at) => `k${at + first.length}`);

// Both wait most of the time.
test.concurrent.skipIf(missing !== undefined)(
  `workers lose nothing when their database crashes, and when the network of one of them is cut${whyNot(missing)}`,
  async () => {
    await using postgres = await startPostgres();
    const url = await postgres.create();
    await using near = makePlace();
    await using far = makePlace();
    const goOn = Promise.withResolvers<void>();
    const asked = new Set<string>();
    await using server = await startModelServer((request) => {
      asked.add(keyOf(request));
      return [wait(goOn.promise), say("Done.")];
    });
    const model = new URL(server.url);
    await using network = await startNetwork({ 5432: `${postgres.directory}/.s.PGSQL.5432`, 80: Number(model.port) });
    const here = { KODA_STORE: url, VLLM_BASE_URL: server.url };
    const there = {
      KODA_STORE: url.replace(/@\/(\w+).*/, `@${network.address}/$1`),
      VLLM_BASE_URL: `http://${network.address}${model.pathname}`,
    };
    near.write(
      "tasks.jsonl",
      listOf([...first.map((key) => ({ key })), ...rest.map((key) => ({ key, after: first }))]),
    );
    const submitted = await koda(near, ["batch", "submit", "tasks.jsonl", "-m", "vllm/scripted"], { env: here });
    expect(submitted.stderr).toBe("");

    await using nearWorker = start(near, ["worker", "-j", "2", "--drain-after", "1s"], { env: here });
    await until(() => asked.size === 2);
    const flags = ["worker", "-j", "3", "--drain-after", "1s"];
    const farWorker = spawnIn(far, [...network.far, binary, ...flags], { env: there });
    const said = textOf(farWorker.stderr);
    await until(() => asked.size === 4);
    network.cut();
    await postgres.restart();
    await until(
      () => said.text.includes("no answer for 20s."),
      () => said.text,
    );
    network.repair();
    await until(
      () => / is back after /.test(said.text),
      () => said.text,
    );
    goOn.resolve();

    expect(await nearWorker.exited).toBe(0);
    expect(await farWorker.exited).toBe(0);
    await using store = await openRemoteFleet(url, { role: "client", note: () => {} });
    const results = Object.values(await resultsOf(store, submitted.stdout.trim()));
    expect(results.map(({ key, state, attempts }) => [key, state, attempts.length])).toEqual(
      [...first, ...rest].map((key) => [key, "done", 1]),
    );
  },
  120_000,
);

test.concurrent.skipIf(missingPostgres !== undefined)(
  `what a worker has done for ten seconds is not lost when its machine is${whyNot(missingPostgres)}`,
  async () => {
    await using postgres = await startPostgres();
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
  },
  90_000,
);

/** The text of a stream so far. */
function textOf(stream: ReadableStream<Uint8Array>): { text: string } {
  const said = { text: "" };
  const decoder = new TextDecoder();
  void stream.pipeTo(new WritableStream({ write: (chunk) => void (said.text += decoder.decode(chunk)) }));
  return said;
}
