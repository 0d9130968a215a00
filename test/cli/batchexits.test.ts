import { describe, expect, test } from "bun:test";
import { type Row, byKey, idIn, keyOf, listOf, outcomesIn, rowsOf, runBatch, statusOf } from "../support/batch.ts";
import { openShell } from "../support/keyboard.ts";
import { koda, start, using } from "../support/koda.ts";
import { call, problem, reply, say, wait } from "../support/model-reply.ts";
import { type Script, startModelServer } from "../support/model-server.ts";
import { configure, makePlace } from "../support/place.ts";

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
      name: "5 when limits were also in the way of those that wait",
      rows: [
        { key: "a", options: { "max-turns": 1 } },
        { key: "b", after: ["a"] },
      ],
      script: byKey({ a: call("Read", { path: "x" }) }),
      exit: 5,
      outcomes: { a: "limit", b: "skipped" },
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

test("after a failure what runs may end, and nothing begins until it is resumed", async () => {
  await using place = makePlace();
  const [gate, asked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await using server = await startModelServer((request) => {
    if (keyOf(request) === "a") return [wait(asked.promise), say("Done.")];
    if (keyOf(request) === "b") asked.resolve();
    return keyOf(request) === "b" ? [wait(gate.promise), say("Done.")] : say("Done.");
  });
  place.write("tasks.jsonl", listOf([{ key: "a", options: { "fail-on": "no-change" } }, { key: "b" }, { key: "c" }]));
  const child = start(place, ["batch", "run", "tasks.jsonl", "-j", "2", ...using(server)]);
  const reader = child.stdout.getReader();
  expect(new TextDecoder().decode((await reader.read()).value)).toStartWith("a\tfailed\t3\t");
  gate.resolve();
  expect(new TextDecoder().decode((await reader.read()).value)).toStartWith("b\tdone\t0\t");
  expect(await child.exited).toBe(3);
  const id = idIn({ stderr: await child.stderr.text() });
  expect(await statusOf(place, id)).toMatchObject({ state: "halted", counts: { done: 1, failed: 1, queued: 1 } });
  const resumed = await koda(place, ["batch", "run", "--resume", id, "--keep-going"]);
  expect([resumed.exit, outcomesIn(resumed)], resumed.stderr).toEqual([3, { c: "done" }]);
});

test("a budget is for all tasks together: what is left of it waits", async () => {
  await using place = makePlace();
  configure(place, {
    providers: { custom: { models: { scripted: { price: { input: 2, cached: 0.5, output: 10 } } } } },
  });
  const usage = { input: 100_000, cached: 0, output: 1_000 };
  const look = call("Read", { path: "x" });
  await using server = await startModelServer((request) =>
    keyOf(request) === "t0" ? reply(look, { usage: { input: 1, output: 0 } }) : reply(say("Done."), { usage }),
  );
  const rows = Array.from({ length: 5 }, (_, at) => ({ key: `t${at}`, options: { "max-turns": 1 } }));
  const ran = await runBatch(place, server, rows, ["--max-cost", "0.5"]);
  expect(ran.exit, ran.stderr).toBe(5);
  const id = idIn(ran);
  const { counts, state } = await statusOf(place, id);
  expect(state).toBe("budget");
  expect(counts).toMatchObject({ limit: 1, done: 3, queued: 1 });
  const costs = (await rowsOf(place, id)).reduce((sum, { cost_usd: cost }) => sum + (cost ?? NaN), 0);
  // One request of the only running task may be too many.
  expect(costs).toBeLessThanOrEqual(0.5 + 0.21);
  const { stdout } = await koda(place, ["batch", "status", id]);
  expect(stdout).toContain("out of budget");
  expect(stdout).toContain("budget   $0.50");
  const again = await koda(place, ["batch", "run", "--resume", id]);
  expect([again.exit, again.stdout], again.stderr).toEqual([5, ""]);
  expect(again.stderr).toContain(` and a larger budget: koda batch run --resume ${id} --max-cost USD\n`);
  expect(again.stderr).toContain(` --limits && koda batch run --resume ${id} --max-cost USD\n`);
  const more = await koda(place, ["batch", "run", "--resume", id, "--max-cost", "5"]);
  expect([more.exit, outcomesIn(more)], more.stderr).toEqual([5, { t4: "done" }]);
});

test("a message of several lines is set in, or on one line behind the name of a task", async () => {
  await using place = makePlace();
  await using server = await startModelServer([]);
  const ran = await runBatch(place, server, [{ key: "a", repo: "./none" }]);
  expect(ran.stderr).toMatch(/^retry {2}a: git ls-remote failed .*repository exists\. \(again at once\)$/m);
  place.write("tasks.jsonl", listOf([{ key: "a" }]));
  const keyless = await koda(place, ["batch", "run", "tasks.jsonl"]);
  expect(keyless.exit).toBe(4);
  expect(keyless.stderr).toMatch(/^koda: starting no more tasks: No model is available: .*\n {2}set a key, /m);
});

test("the status names a worker as soon as it has a task", async () => {
  await using place = makePlace();
  const gate = Promise.withResolvers<void>();
  await using server = await startModelServer([[wait(gate.promise), say("Done.")]]);
  place.write("tasks.jsonl", listOf([{ key: "a" }]));
  const child = start(place, ["batch", "run", "tasks.jsonl", "--lease", "12h", ...using(server)]);
  await server.nextRequest();
  const { stdout: list } = await koda(place, ["batch", "status", "--json"]);
  const [{ id } = { id: "" }] = JSON.parse(list) as { id: string }[];
  let shown = "";
  while (!shown.includes("\nworker")) shown = (await koda(place, ["batch", "status", id])).stdout;
  expect(shown).toMatch(/^worker {3}.* runs a, last seen /m);
  gate.resolve();
  expect(await child.exited).toBe(0);
});

test("while all wait for a provider, the status asks for no worker", async () => {
  await using place = makePlace();
  await using server = await startModelServer(() => problem(429, "slow down", { "retry-after": "3600" }));
  place.write("tasks.jsonl", listOf([{ key: "a" }]));
  await using child = start(place, ["batch", "run", "tasks.jsonl", "--json", ...using(server)]);
  const reader = child.stdout.getReader();
  let events = "";
  while (!events.includes('"task.retry"')) events += new TextDecoder().decode((await reader.read()).value);
  const { stdout: list } = await koda(place, ["batch", "status", "--json"]);
  const [{ id } = { id: "" }] = JSON.parse(list) as { id: string }[];
  const { stdout } = await koda(place, ["batch", "status", id]);
  expect(stdout).toContain("\npaused   default: its provider asked to wait ");
  expect(stdout).not.toContain("no worker");
  await using other = start(place, ["batch", "run", "tasks.jsonl", ...using(server)]);
  const waiting = other.stderr.getReader();
  let said = "";
  while (!/ by its provider .*\n/.test(said)) said += new TextDecoder().decode((await waiting.read()).value);
  expect(said).toMatch(/^koda: group "default" is paused by its provider for (?:59|60) min \d+ s$/m);
});

test("when the worker of what runs has been silent for too long, the status asks for another", async () => {
  await using place = makePlace();
  const gate = Promise.withResolvers<void>();
  await using server = await startModelServer(() => [wait(gate.promise), say("Done.")]);
  place.write("tasks.jsonl", listOf([{ key: "a" }]));
  const child = start(place, ["batch", "run", "tasks.jsonl", "--lease", "1s", ...using(server)]);
  await server.nextRequest();
  child.kill("SIGKILL");
  await child.exited;
  const { stdout: list } = await koda(place, ["batch", "status", "--json"]);
  const [{ id } = { id: "" }] = JSON.parse(list) as { id: string }[];
  let shown = "";
  while (!shown.includes("If no worker is waiting")) shown = (await koda(place, ["batch", "status", id])).stdout;
  expect(shown).toMatch(
    /: 1 running\n[^]* runs a, last seen [^]*\nIf no worker is waiting for its tasks, start one: koda worker, or /,
  );
});

test("a worker that stopped says why in the status", async () => {
  await using place = makePlace();
  await using server = await startModelServer([problem(401, "bad key")]);
  const ran = await runBatch(place, server, [{ key: "a" }]);
  expect(ran.exit).toBe(4);
  const { stdout } = await koda(place, ["batch", "status", idIn(ran)]);
  expect(stdout).toMatch(/^worker {3}.* stopped \d.* ago: .*bad key/m);
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
  const [{ id = "" } = {}] = JSON.parse((await koda(place, ["batch", "status", "--json"])).stdout) as { id?: string }[];
  const watched = await shell.press(`koda batch watch ${id}; echo "code=$?"\n`, /code=0/);
  expect(watched).toMatch(/^total +2 +cost unknown/m);
  expect(watched).not.toContain("done  a");
  const failed = idIn(await runBatch(place, server, [{ key: "c", options: { "fail-on": "no-change" } }]));
  const summary = await shell.press(`koda batch watch ${failed}; echo "code=$?"\n`, /code=3/);
  expect(summary).toMatch(/^failed {2}c: .* \(exit 3\)\r?$/m);
  expect(summary).toContain(`To retry what did not work: koda batch retry ${failed} && `);
});
