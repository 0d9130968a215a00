import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { byKey, idIn, listOf, outcomesIn } from "../support/batch.ts";
import { koda, using } from "../support/koda.ts";
import { say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace, type Place } from "../support/place.ts";
import { guest, missingPostgres, type PostgresServer, startPostgres } from "../support/postgres.ts";

const why = missingPostgres === undefined ? "" : ` (${missingPostgres})`;

const writeTasks = (place: Place, keys: readonly string[]) =>
  place.write("tasks.jsonl", keys.map((key) => `${JSON.stringify({ key, prompt: `Do ${key}` })}\n`).join(""));

describe.skipIf(missingPostgres !== undefined)(`with PostgreSQL${why}`, () => {
  let postgres: PostgresServer;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(async () => await postgres[Symbol.asyncDispose]());

  test("one place submits, another works, and a third one reads the results", async () => {
    await using submitter = makePlace();
    await using other = makePlace();
    await using reader = makePlace();
    await using server = await startModelServer(() => say("Done."));
    const env = { KODA_STORE: await postgres.create() };
    writeTasks(submitter, ["a", "b", "c"]);
    const submitted = await koda(submitter, ["batch", "submit", "tasks.jsonl", ...using(server)], { env });
    expect([submitted.exit, submitted.stderr]).toEqual([0, ""]);
    const id = submitted.stdout.trim();
    const [worked, watched] = await Promise.all([
      koda(other, ["worker", "-j", "2", "--drain-after", "1s"], { env }),
      koda(reader, ["batch", "watch", id], { env }),
    ]);
    expect(worked.exit, worked.stderr).toBe(0);
    expect(watched.exit, watched.stderr).toBe(0);
    expect(watched.stdout.match(/^\{"type":"task.end",.*"outcome":"done"/gm)).toHaveLength(3);
    const { stdout } = await koda(reader, ["batch", "results", id, "--format", "csv"], { env });
    expect(stdout.match(/^[abc],done,0,/gm)).toHaveLength(3);
    expect(JSON.parse((await koda(reader, ["batch", "status", id, "--json"], { env })).stdout)).toMatchObject({
      state: "over",
      counts: { done: 3 },
    });
  });

  test("the status of a store on the command line has it in what to do next", async () => {
    await using place = makePlace();
    const flags = ["--store", await postgres.create()];
    writeTasks(place, ["a"]);
    const { stdout: id } = await koda(place, ["batch", "submit", "tasks.jsonl", "-m", "demo", ...flags]);
    const { stdout } = await koda(place, ["batch", "status", id.trim(), ...flags]);
    expect(stdout).toEndWith(`: koda worker --store …, or koda batch run --resume ${id.trim()} --store …\n`);
  });

  test("a batch is run, retried and resumed there as here", async () => {
    await using place = makePlace();
    await using server = await startModelServer(byKey({}));
    const env = { KODA_STORE: await postgres.create() };
    place.write(
      "tasks.jsonl",
      listOf([{ key: "a", options: { "fail-on": "no-change" } }, { key: "b" }, { key: "c", after: ["a"] }]),
    );
    const ran = await koda(place, ["batch", "run", "tasks.jsonl", "-j", "2", "--keep-going", ...using(server)], {
      env,
    });
    expect([ran.exit, outcomesIn(ran)], ran.stderr).toEqual([3, { a: "failed", b: "done", c: "skipped" }]);
    const retried = await koda(place, ["batch", "retry", idIn(ran)], { env });
    expect(retried.stdout).toStartWith(`Queued 2 tasks of ${idIn(ran)} again`);
    const again = await koda(place, ["batch", "run", "--resume", idIn(ran)], { env });
    expect([again.exit, outcomesIn(again)], again.stderr).toEqual([3, { a: "failed", c: "skipped" }]);
    const cancelled = await koda(place, ["batch", "cancel", idIn(ran)], { env });
    expect(cancelled.stdout).toBe(`Cancelled 0 tasks of ${idIn(ran)}\n`);
    const junit = await koda(place, ["batch", "results", idIn(ran), "--format", "junit"], { env });
    expect(junit.stdout).toContain('tests="3" failures="1" errors="0" skipped="1"');
  });

  test("a wrong password is exit 4, and is not printed", async () => {
    await using place = makePlace();
    const url = (await postgres.create()).replace("koda@", `${guest.user}:hunter2@`);
    const { exit, stderr } = await koda(place, ["batch", "status"], { env: { KODA_STORE: url } });
    expect([exit, stderr.includes("hunter2")], stderr).toEqual([4, false]);
  });

  test("an unknown batch is exit 10", async () => {
    await using place = makePlace();
    const env = { KODA_STORE: await postgres.create() };
    const { exit, stderr } = await koda(place, ["batch", "cancel", "nope"], { env });
    expect([exit, stderr]).toEqual([
      10,
      'koda: No batch "nope" in this store: see koda batch status, and check --store and KODA_STORE\n',
    ]);
  });
});

test("a store that cannot be reached is exit 10, and nothing is submitted", async () => {
  await using place = makePlace();
  writeTasks(place, ["a"]);
  const flags = ["--store", "postgres://koda:hunter2@127.0.0.1:1/koda"];
  const { exit, stdout, stderr } = await koda(place, ["batch", "submit", "tasks.jsonl", ...flags]);
  expect([exit, stdout, stderr.includes("hunter2")], stderr).toEqual([10, "", false]);
});
