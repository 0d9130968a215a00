import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { resultRowSchema, type ResultRow } from "../../lib/fleet/results/row.ts";
import { batches, database, makeRepository } from "../support/fleetplace.ts";
import { binary, koda, start, using } from "../support/koda.ts";
import { call, type Entry, hang, problem, reply, say, wait } from "../support/model-reply.ts";
import { type ModelRequestSeen, type ModelServer, type Script, startModelServer } from "../support/model-server.ts";
import { openShell } from "../support/keyboard.ts";
import { configure, makePlace, type Place } from "../support/place.ts";
import { type Ran, runIn } from "../support/run.ts";

type Row = { key: string; [field: string]: unknown };

const listOf = (rows: readonly Row[]) =>
  rows.map((row) => `${JSON.stringify({ prompt: `Do task=${row.key}.`, ...row })}\n`).join("");

/** The words of a task are its prompt: that is how a script knows which task asks. */
const keyOf = ({ raw }: ModelRequestSeen) => /Do task=(\w+)\./.exec(raw)?.[1] ?? "";

/** A model that says the same to each task, whatever the order. */
const byKey =
  (replies: Readonly<Record<string, Entry>>): Script =>
  (request) =>
    replies[keyOf(request)] ?? say("Done.");

async function runBatch(
  place: Place,
  server: Pick<ModelServer, "url">,
  rows: readonly Row[],
  flags: readonly string[] = [],
) {
  place.write("tasks.jsonl", listOf(rows));
  return await koda(place, ["batch", "run", "tasks.jsonl", ...using(server), ...flags]);
}

/** `key outcome` of each line. */
const outcomesIn = ({ stdout }: Ran) =>
  Object.fromEntries(
    stdout
      .trimEnd()
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => line.split("\t", 2)),
  ) as Record<string, string>;

const idIn = ({ stderr }: Ran) => /koda: batch (\S{12}), /.exec(stderr)?.[1] ?? "";

async function rowsOf(place: Place, id: string): Promise<ResultRow[]> {
  const { stdout } = await koda(place, ["batch", "results", id]);
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => resultRowSchema.parse(JSON.parse(line)));
}

async function statusOf(place: Place, id: string) {
  const { stdout, stderr } = await koda(place, ["batch", "status", id, "--json"]);
  expect(stderr).toBe("");
  const status = JSON.parse(stdout) as { total: number; counts: Record<string, number>; state: string };
  const sum = Object.values(status.counts).reduce((one, other) => one + other, 0);
  expect(sum, "the counts add up to the number of tasks").toBe(status.total);
  return status;
}

test("a batch does its tasks, each in its own place, and says what became of each", async () => {
  await using place = makePlace();
  const repo = makeRepository(place, { "a.txt": "one\n" });
  await using server = await startModelServer((request) => {
    const isFirst = request.lines.at(-1)?.role === "user";
    return isFirst ? call("Write", { path: "new.txt", content: "new\n" }) : say("Written.");
  });
  const ran = await runBatch(place, server, [
    { key: "a", repo: "../origin" },
    { key: "b", repo },
  ]);
  expect(ran.exit, ran.stderr).toBe(0);
  expect(outcomesIn(ran)).toEqual({ a: "done", b: "done" });
  expect(ran.stderr).toContain("2 tasks");
  const id = idIn(ran);
  expect(await statusOf(place, id)).toMatchObject({ state: "over", total: 2, counts: { done: 2 } });
  const rows = await rowsOf(place, id);
  expect(rows.map(({ key, outcome, session, patch }) => [key, outcome, session, patch])).toEqual([
    ["a", "done", `${id}.a`, true],
    ["b", "done", `${id}.b`, true],
  ]);
  expect((await koda(place, ["batch", "results", id, "--format", "patches", "-o", "out"])).exit).toBe(0);
  expect(readFileSync(join(place.project, "out/a.patch"), "utf8")).toContain("+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n");
  expect(existsSync(join(batches(place), id))).toBe(false);
  expect((await koda(place, ["__complete", "batches"])).stdout).toBe(`${id}\t2 tasks, over\n`);
});

describe("exits with", () => {
  const cases: readonly {
    name: string;
    rows: readonly Row[];
    script: Script;
    flags?: readonly string[];
    exit: number;
    outcomes: Record<string, string>;
  }[] = [
    { name: "0 when all are done", rows: [{ key: "a" }], script: [say("Done.")], exit: 0, outcomes: { a: "done" } },
    {
      name: "3 when one failed, and what was not begun waits",
      rows: [{ key: "a", options: { "fail-on": "no-change" } }, { key: "b" }],
      script: [say("Nothing.")],
      exit: 3,
      outcomes: { a: "failed" },
    },
    {
      name: "3 after the others, with --keep-going",
      rows: [
        { key: "a", options: { "fail-on": "no-change" } },
        { key: "b" },
        { key: "c", after: ["a"] },
        { key: "d", after: ["b"] },
      ],
      script: byKey({}),
      flags: ["--keep-going"],
      exit: 3,
      outcomes: { a: "failed", b: "done", c: "skipped", d: "done" },
    },
    {
      name: "5 when only limits were in the way",
      rows: [{ key: "a", options: { "max-turns": 1 } }, { key: "b" }],
      script: byKey({ a: call("Read", { path: "x" }) }),
      exit: 5,
      outcomes: { a: "limit", b: "done" },
    },
    {
      name: "3 when a task is poison",
      rows: [{ key: "a" }, { key: "b" }],
      script: byKey({ a: problem(400, "no such thing") }),
      exit: 3,
      outcomes: { a: "poison", b: "done" },
    },
    {
      name: "4 when the key is refused, with the task given back",
      rows: [{ key: "a" }],
      script: [problem(401, "bad key")],
      exit: 4,
      outcomes: {},
    },
  ];
  for (const { name, rows, script, flags = [], exit, outcomes } of cases)
    test(name, async () => {
      await using place = makePlace();
      await using server = await startModelServer(script);
      const ran = await runBatch(place, server, rows, flags);
      expect([ran.exit, outcomesIn(ran)], ran.stderr).toEqual([exit, outcomes]);
      const { counts, total } = await statusOf(place, idIn(ran));
      expect(total).toBe(rows.length);
      const open = rows.length - Object.keys(outcomes).length;
      expect((counts["queued"] ?? 0) + (counts["waiting"] ?? 0)).toBe(open);
      if (open > 0) expect(ran.stderr).toContain(`koda batch run --resume ${idIn(ran)}`);
    });
});

test("--json prints events, of which the last has the sums and the exit code", async () => {
  await using place = makePlace();
  await using server = await startModelServer(byKey({}));
  const rows = [{ key: "a", options: { "fail-on": "no-change" } }, { key: "b" }, { key: "c", after: ["a"] }];
  const ran = await runBatch(place, server, rows, ["--json", "--keep-going", "-j", "2"]);
  const events = ran.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { type: string; key?: string; outcome?: string });
  expect(events[0]).toMatchObject({ type: "batch.start", total: 3 });
  const ends = events.filter(({ type }) => type === "task.end");
  expect(Object.fromEntries(ends.map(({ key, outcome }) => [key, outcome]))).toEqual({
    a: "failed",
    b: "done",
    c: "skipped",
  });
  expect(ends).toHaveLength(3);
  expect(events.at(-1)).toMatchObject({
    type: "batch.end",
    counts: { done: 1, failed: 1, limit: 0, poison: 0, cancelled: 0, skipped: 1 },
    exit: 3,
  });
  expect(ran.exit).toBe(3);
});

test("a list with a mistake submits nothing", async () => {
  await using place = makePlace();
  const ran = await runBatch(place, { url: "http://127.0.0.1:1/v1" }, [{ key: "a" }, { key: "a" }]);
  expect([ran.exit, ran.stdout]).toEqual([2, ""]);
  expect(ran.stderr).toContain('tasks.jsonl:2: "key" "a": line 1 has it already');
  expect((await koda(place, ["batch", "status", "--json"])).stdout).toBe("[]\n");
});

test("a budget in money needs a price before anything is submitted", async () => {
  await using place = makePlace();
  const ran = await runBatch(place, { url: "http://127.0.0.1:1/v1" }, [{ key: "a" }], ["--max-cost", "1"]);
  expect(ran.exit).toBe(2);
  expect(ran.stderr).toContain("price of");
  expect((await koda(place, ["batch", "status", "--json"])).stdout).toBe("[]\n");
});

test("a batch whose process was killed is resumed, and no task is done twice", async () => {
  await using place = makePlace();
  const asked: string[] = [];
  await using server = await startModelServer((request) => {
    asked.push(keyOf(request));
    return keyOf(request) === "b" && asked.filter((key) => key === "b").length === 1 ? hang() : say("Done.");
  });
  place.write("tasks.jsonl", listOf([{ key: "a" }, { key: "b" }, { key: "c" }]));
  const child = start(place, ["batch", "run", "tasks.jsonl", "--lease", "2s", ...using(server)]);
  while (!asked.includes("b")) await server.nextRequest();
  child.kill("SIGKILL");
  await child.exited;
  const [{ id = "" } = {}] = JSON.parse((await koda(place, ["batch", "status", "--json"])).stdout) as { id?: string }[];
  const ran = await koda(place, ["batch", "run", "--resume", id.slice(0, 9)]);
  expect(ran.exit, ran.stderr).toBe(0);
  expect(outcomesIn(ran)).toEqual({ b: "done", c: "done" });
  expect(asked).toEqual(["a", "b", "b", "c"]);
  expect(await statusOf(place, id)).toMatchObject({ state: "over", counts: { done: 3 } });
});

test("a signal stops the children and says how to go on", async () => {
  await using place = makePlace();
  await using server = await startModelServer(byKey({ a: hang() }));
  place.write("tasks.jsonl", listOf([{ key: "a" }, { key: "b" }]));
  const child = start(place, ["batch", "run", "tasks.jsonl", ...using(server)]);
  const request = await server.nextRequest();
  child.kill("SIGINT");
  expect(await child.exited).toBe(130);
  expect(await request.ended).toBe("gone");
  const stderr = await child.stderr.text();
  const id = /koda: batch (\S{12}), /.exec(stderr)?.[1] ?? "";
  expect(stderr).toContain(`koda batch run --resume ${id}`);
  expect(await statusOf(place, id)).toMatchObject({ state: "open", counts: { queued: 2 } });
});

test("a reader that goes away stops the run, which gives its tasks back and says how to go on", async () => {
  await using place = makePlace();
  await using server = await startModelServer(byKey({ b: hang() }));
  place.write("tasks.jsonl", listOf([{ key: "a" }, { key: "b" }, { key: "c" }]));
  const program = `"$0" batch run tasks.jsonl -m scripted --base-url "$1" -j 2 | head -n 0; exit "\${PIPESTATUS[0]}"`;
  const ran = await runIn(place, ["bash", "-c", program, binary, server.url]);
  expect(ran.exit, ran.stderr).toBe(141);
  expect(ran.stderr).toContain(`koda batch run --resume ${idIn(ran)}`);
  expect((await statusOf(place, idIn(ran))).counts["running"]).toBe(0);
});

test("two processes share a batch, and each task is done once", async () => {
  await using place = makePlace();
  const asked: string[] = [];
  await using server = await startModelServer((request) => {
    asked.push(keyOf(request));
    return say("Done.");
  });
  const keys = Array.from({ length: 8 }, (_, at) => `t${at}`);
  place.write("tasks.jsonl", listOf(keys.map((key) => ({ key }))));
  const { stdout } = await koda(place, ["batch", "submit", "tasks.jsonl", ...using(server)]);
  expect(stdout).toMatch(/^[0-9a-z]{12}\n$/);
  const id = stdout.trim();
  const [one, other, watch] = await Promise.all([
    koda(place, ["batch", "run", "--resume", id]),
    koda(place, ["batch", "run", "--resume", id]),
    koda(place, ["batch", "watch", id]),
  ]);
  expect([one.exit, other.exit, watch.exit], one.stderr + other.stderr).toEqual([0, 0, 0]);
  expect(asked.toSorted()).toEqual(keys);
  for (const ran of [one, other, watch]) expect(Object.keys(outcomesIn(ran)).toSorted()).toEqual(keys);
});

test("cancel settles what is open, and retry queues it again", async () => {
  await using place = makePlace();
  const gate = Promise.withResolvers<void>();
  await using server = await startModelServer((request) =>
    keyOf(request) === "a" ? [wait(gate.promise), say("Done.")] : say("Done."),
  );
  place.write("tasks.jsonl", listOf([{ key: "a" }, { key: "b" }]));
  const child = start(place, ["batch", "run", "tasks.jsonl", "--lease", "1s", ...using(server)]);
  const request = await server.nextRequest();
  const [{ id = "" } = {}] = JSON.parse((await koda(place, ["batch", "status", "--json"])).stdout) as { id?: string }[];
  expect((await koda(place, ["batch", "cancel", id])).stdout).toBe(`Cancelled 2 tasks of ${id}\n`);
  expect(await child.exited).toBe(3);
  expect(await request.ended).toBe("gone");
  gate.resolve();
  expect(await statusOf(place, id)).toMatchObject({ state: "cancelled", counts: { cancelled: 2 } });
  const watched = await koda(place, ["batch", "watch", id]);
  expect([watched.exit, outcomesIn(watched)]).toEqual([3, { a: "cancelled", b: "cancelled" }]);

  const retried = await koda(place, ["batch", "retry", id, "b"]);
  expect(retried.stdout).toStartWith(`Queued 1 task of ${id} again`);
  const ran = await koda(place, ["batch", "run", "--resume", id]);
  expect([ran.exit, outcomesIn(ran)], ran.stderr).toEqual([3, { b: "done" }]);
  expect((await koda(place, ["batch", "retry", id, "z"])).exit).toBe(2);
});

test("a task that was out of turns goes on where it was", async () => {
  await using place = makePlace({ "x.txt": "x" });
  await using server = await startModelServer([call("Read", { path: "x.txt" }), say("Done.")]);
  const ran = await runBatch(place, server, [{ key: "a", options: { "max-turns": 1 } }]);
  expect(ran.exit).toBe(5);
  expect(ran.stderr).toContain(`koda batch retry ${idIn(ran)} --limits`);
  expect((await koda(place, ["batch", "retry", idIn(ran), "--limits"])).exit).toBe(0);
  const resumed = await koda(place, ["batch", "run", "--resume", idIn(ran)]);
  expect([resumed.exit, outcomesIn(resumed)], resumed.stderr).toEqual([0, { a: "done" }]);
  expect(server.problems).toEqual([]);
});

test("shards with their results merge to one run", async () => {
  await using place = makePlace();
  await using server = await startModelServer(byKey({}));
  const rows = ["a", "b", "c", "d", "e"].map((key) => ({
    key,
    ...(key === "d" && { options: { "fail-on": "no-change" } }),
  }));
  const shards = await Promise.all(
    [1, 2].map((at) => runBatch(place, server, rows, ["--shard", `${at}/2`, "--results", `s${at}`, "--keep-going"])),
  );
  expect(shards.map(({ exit }) => exit).toSorted()).toEqual([0, 3]);
  const merged = await koda(place, ["batch", "merge", "s2", "s1", "--format", "csv"]);
  expect(merged.exit).toBe(3);
  const lines = merged.stdout.trimEnd().split("\r\n").slice(1);
  expect(lines.map((line) => line.split(",").slice(0, 2).join(" "))).toEqual(
    rows.map(({ key }) => `${key} ${key === "d" ? "failed" : "done"}`),
  );
  const own = await koda(place, ["batch", "merge", "s1", "s2", "--results", "../project/s1"]);
  expect([own.exit, own.stderr]).toEqual([
    2,
    'koda: --results "../project/s1" is the shard "s1": name another directory\n',
  ]);
  const whole = await koda(place, ["batch", "merge", "s1", "s2", "--results", "all", "--format", "csv"]);
  expect([whole.exit, whole.stdout]).toEqual([3, merged.stdout]);
  expect((await koda(place, ["batch", "merge", "all", "--format", "csv"])).stdout).toBe(merged.stdout);
  const missing = await koda(place, ["batch", "merge", "s1"]);
  expect([missing.exit, missing.stderr]).toEqual([2, "koda: Cannot merge: missing is shard 2/2\n"]);
});

test("a budget is for all tasks together: what is left of it waits", async () => {
  await using place = makePlace();
  configure(place, {
    providers: { custom: { models: { scripted: { price: { input: 2, cached: 0.5, output: 10 } } } } },
  });
  const usage = { input: 100_000, cached: 0, output: 1_000 };
  await using server = await startModelServer(() => reply(say("Done."), { usage }));
  const rows = Array.from({ length: 5 }, (_, at) => ({ key: `t${at}` }));
  const ran = await runBatch(place, server, rows, ["--max-cost", "0.5"]);
  expect(ran.exit, ran.stderr).toBe(5);
  const id = idIn(ran);
  const { counts, state } = await statusOf(place, id);
  expect(state).toBe("budget");
  expect(counts).toMatchObject({ done: 3, queued: 2 });
  const costs = (await rowsOf(place, id)).reduce((sum, { cost_usd: cost }) => sum + cost, 0);
  // One request of the only running task may be too many.
  expect(costs).toBeLessThanOrEqual(0.5 + 0.21);
  const { stdout } = await koda(place, ["batch", "status", id]);
  expect(stdout).toContain("out of budget");
  expect(stdout).toContain("budget   $0.50");
  const again = await koda(place, ["batch", "run", "--resume", id]);
  expect([again.exit, again.stdout], again.stderr).toEqual([5, ""]);
  expect(again.stderr).toContain(`koda batch run --resume ${id}, with a larger --max-cost`);
  const more = await koda(place, ["batch", "run", "--resume", id, "--max-cost", "5"]);
  expect([more.exit, outcomesIn(more)], more.stderr).toEqual([0, { t3: "done", t4: "done" }]);
});

test("a worker that stopped says why in the status", async () => {
  await using place = makePlace();
  await using server = await startModelServer([problem(401, "bad key")]);
  const ran = await runBatch(place, server, [{ key: "a" }]);
  expect(ran.exit).toBe(4);
  const { stdout } = await koda(place, ["batch", "status", idIn(ran)]);
  expect(stdout).toMatch(/^worker {3}.* takes no more tasks: .*bad key/m);
});

test("on a terminal one line is kept up to date, and what is settled stands above it", async () => {
  await using place = makePlace();
  const gate = Promise.withResolvers<void>();
  await using server = await startModelServer((request) =>
    keyOf(request) === "b" ? [wait(gate.promise), say("Done.")] : say("Done."),
  );
  place.write("tasks.jsonl", listOf([{ key: "a" }, { key: "b" }]));
  await using shell = await openShell(place, ["bash", "--norc", "--noprofile", "-i"], { PS1: "ready> " });
  const line = `koda batch run tasks.jsonl -m scripted --base-url ${server.url}; echo "code=$?"\n`;
  const shown = await shell.press(line, /\[K1\/2 settled: 1 done, 1 running/);
  expect(shown).toContain("done  a (");
  gate.resolve();
  const rest = await shell.press("", /code=0/);
  expect(rest).toContain("\r\u001b[Kdone  b (");
});

describe("refuses, with exit 10, a batch that is not there:", () => {
  for (const verb of ["status", "watch", "cancel", "retry", "results"])
    test(verb, async () => {
      await using place = makePlace();
      const { exit, stderr } = await koda(place, ["batch", verb, "nope"]);
      expect([exit, stderr]).toEqual([10, 'koda: No batch "nope": see koda batch status\n']);
      expect(existsSync(database(place))).toBe(false);
    });
});

test("a task that may not go without the sandbox cannot say so, and the command line can", async () => {
  await using place = makePlace();
  configure(place, {});
  await using server = await startModelServer(byKey({}));
  const refused = await runBatch(place, server, [{ key: "a", options: { "no-sandbox": true } }]);
  expect(refused.exit).toBe(2);
  const ran = await runBatch(place, server, [{ key: "a" }], ["--no-sandbox"]);
  expect(ran.exit, ran.stderr).toBe(0);
});
