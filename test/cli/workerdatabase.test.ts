import { expect, test } from "bun:test";
import { openRemoteFleet } from "../../lib/fleet/postgres/remote.ts";
import { keyOf, listOf } from "../support/batch.ts";
import { resultsOf } from "../support/fleettasks.ts";
import { binary, koda, start } from "../support/koda.ts";
import { say, wait } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { missingNetwork, startNetwork } from "../support/network.ts";
import { makePlace } from "../support/place.ts";
import { missingPostgres, startPostgres } from "../support/postgres.ts";
import { spawnIn } from "../support/run.ts";
import { until } from "../support/until.ts";

const missing = missingPostgres ?? missingNetwork;
const why = missing === undefined ? "" : ` (${missing})`;
// There is nothing else to do until these are done, so a worker that has two of them goes on asking for a third one.
const first = ["k0", "k1", "k2", "k3"];
const rest = Array.from({ length: 8 }, (_, at) => `k${at + first.length}`);

test.skipIf(missing !== undefined)(
  `workers lose nothing when their database crashes, and when the network of one of them is cut${why}`,
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
    const results = await resultsOf(store, submitted.stdout.trim());
    expect(results.map(({ key, state, attempts }) => [key, state, attempts.length])).toEqual(
      [...first, ...rest].map((key) => [key, "done", 1]),
    );
  },
  120_000,
);

/** The text of a stream so far. */
function textOf(stream: ReadableStream<Uint8Array>): { text: string } {
  const said = { text: "" };
  const decoder = new TextDecoder();
  void stream.pipeTo(new WritableStream({ write: (chunk) => void (said.text += decoder.decode(chunk)) }));
  return said;
}
