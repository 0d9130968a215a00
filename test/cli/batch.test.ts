import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { byKey, eventsIn, idIn, listOf, outcomesIn, rowsOf, runBatch, statusOf } from "../support/batch.ts";
import { batches, database, makeRepository } from "../support/fleetplace.ts";
import { koda, using } from "../support/koda.ts";
import { call, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { configure, makePlace } from "../support/place.ts";

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
  expect(rows.map(({ key, outcome, session, model, patch }) => [key, outcome, session, model, patch])).toEqual([
    ["a", "done", `${id}.a`, "custom/scripted", true],
    ["b", "done", `${id}.b`, "custom/scripted", true],
  ]);
  expect((await koda(place, ["batch", "results", id, "--format", "patches", "-o", "out"])).exit).toBe(0);
  expect(readFileSync(join(place.project, "out/a.patch"), "utf8")).toContain("+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n");
  expect(existsSync(join(batches(place), id))).toBe(false);
  expect((await koda(place, ["__complete", "batches"])).stdout).toBe(`${id}\t2 tasks, over\n`);
});

test("a task that changed no file has no patch, which git apply would refuse", async () => {
  await using place = makePlace();
  const repo = makeRepository(place, { "a.txt": "one\n" });
  await using server = await startModelServer([say("Nothing to do.")]);
  const ran = await runBatch(place, server, [{ key: "a", repo }], ["--results", "out"]);
  expect(ran.exit, ran.stderr).toBe(0);
  expect((await rowsOf(place, idIn(ran))).map(({ patch }) => patch)).toEqual([false]);
  expect(existsSync(join(place.project, "out/patches/a.patch"))).toBe(false);
});

test("one prompt for many repositories needs no list, and nothing but its work trees is kept", async () => {
  await using place = makePlace({ "task.md": "Fix it." });
  makeRepository(place, { "a.txt": "one\n" }, "alpha");
  const beta = makeRepository(place, { "b.txt": "two\n" }, "beta");
  place.write("repos.txt", `# ours\n../alpha main\n\n${beta}\n`);
  await using server = await startModelServer((request) => {
    const isFirst = request.lines.at(-1)?.role === "user";
    return isFirst ? call("Bash", { command: "ls" }) : say(request.lines.at(-1)?.text ?? "");
  });
  const list = ["--repos", "repos.txt", "--prompt", "task.md"];
  const ran = await koda(place, ["batch", "run", ...list, "-j", "2", "--keep", ...using(server)]);
  expect([ran.exit, outcomesIn(ran)], ran.stderr).toEqual([0, { alpha: "done", beta: "done" }]);
  expect(readdirSync(join(batches(place), idIn(ran))).toSorted()).toEqual(["alpha", "beta"]);
  const answers = (await rowsOf(place, idIn(ran))).map(({ key, ref, end }) => [key, ref, String(end?.["text"]).trim()]);
  expect(answers).toEqual([
    ["alpha", "main", expect.stringContaining("a.txt")],
    ["beta", undefined, expect.stringContaining("b.txt")],
  ]);
});

test("--publish pushes one branch to each repository of --repos", async () => {
  await using place = makePlace({ "task.md": "Fix it." });
  const repositories = ["alpha", "beta"].map((name) => makeRepository(place, { "a.txt": "one\n" }, name));
  place.write("repos.txt", repositories.join("\n"));
  await using server = await startModelServer((request) =>
    request.lines.at(-1)?.role === "user" ? call("Write", { path: "b.txt", content: "two\n" }) : say("Done."),
  );
  const list = ["--repos", "repos.txt", "--prompt", "task.md", "--publish"];
  const ran = await koda(place, ["batch", "run", ...list, "koda/fix", ...using(server)]);
  expect(ran.exit, ran.stderr).toBe(0);
  for (const repository of repositories)
    expect(Bun.spawnSync(["git", "-C", repository, "show", "koda/fix:b.txt"]).stdout.toString()).toBe("two\n");
  const refused = await koda(place, ["batch", "submit", ...list, "no branch"]);
  expect([refused.exit, refused.stderr.split("\n")[0]]).toEqual([
    2,
    'koda: --publish "no branch": expected the name of a branch',
  ]);
});

test("a list may come from a pipe, and its paths start in the current directory", async () => {
  await using place = makePlace({ "p.md": "Do task=a." });
  await using server = await startModelServer([say("Done.")]);
  const stdin = '{"key":"a","prompt_file":"p.md"}';
  const ran = await koda(place, ["batch", "run", "-", ...using(server)], { stdin });
  expect([ran.exit, outcomesIn(ran)], ran.stderr).toEqual([0, { a: "done" }]);
  expect(server.requests[0]?.raw).toContain("Do task=a.");
});

test("--json prints events, of which the last has the sums and the exit code", async () => {
  await using place = makePlace();
  await using server = await startModelServer(byKey({}));
  const rows = [{ key: "a", options: { "fail-on": "no-change" } }, { key: "b" }, { key: "c", after: ["a"] }];
  const ran = await runBatch(place, server, rows, ["--json", "--keep-going", "-j", "2"]);
  const events = eventsIn(ran);
  expect(events[0]).toMatchObject({ type: "batch.start", total: 3 });
  const ends = events.filter((event) => event.type === "task.end");
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
  expect((await rowsOf(place, idIn(ran))).map(({ after }) => after)).toEqual([undefined, undefined, ["a"]]);
});

test("the status of a batch that nothing runs names the labels that a worker needs", async () => {
  await using place = makePlace();
  place.write(
    "tasks.jsonl",
    listOf([
      { key: "a", labels: ["gpu", "big"] },
      { key: "b", labels: ["gpu"] },
    ]),
  );
  const { stdout: id } = await koda(place, ["batch", "submit", "tasks.jsonl", "-m", "demo"]);
  const { stdout } = await koda(place, ["batch", "status", id.trim()]);
  const commands = `koda worker --labels big,gpu, or koda batch run --resume ${id}`;
  expect(stdout).toEndWith(`If no worker is waiting for its tasks, start one: ${commands}`);
});

test("results without a directory for temporary files are refused", async () => {
  await using place = makePlace();
  place.write("tasks.jsonl", listOf([{ key: "a" }]));
  const { stdout: id } = await koda(place, ["batch", "submit", "tasks.jsonl"]);
  const { exit, stderr } = await koda(place, ["batch", "results", id.trim()], { env: { TMPDIR: "/nonexistent" } });
  expect([exit, stderr]).toEqual([11, expect.stringContaining("Set TMPDIR to a writable directory")]);
});

test("a misspelled provider, of a task or of this machine, submits nothing", async () => {
  await using place = makePlace();
  configure(place, { providers: { custom: { base_url: "http://127.0.0.1:1/v1" } } });
  place.write("tasks.jsonl", listOf([{ key: "a", options: { model: "demo" } }, { key: "b" }]));
  const runs = [
    await koda(place, ["batch", "run", "tasks.jsonl", "-m", "costum/one"]),
    await koda(place, ["batch", "run", "tasks.jsonl"], { env: { KODA_MODEL: "costum/one" } }),
  ];
  const problem = expect.stringContaining(
    'Unknown provider "costum" in the model "costum/one" (did you mean "custom/one"?)',
  );
  for (const { exit, stderr } of runs) expect([exit, stderr]).toEqual([2, problem]);
  expect((await koda(place, ["batch", "status", "--json"])).stdout).toBe("[]\n");
});

test("an invalid configuration submits nothing, and neither changes a batch nor fails its tasks", async () => {
  await using place = makePlace();
  place.write("tasks.jsonl", listOf([{ key: "a" }]));
  const id = (await koda(place, ["batch", "submit", "tasks.jsonl"])).stdout.trim();
  const status = async () => JSON.parse((await koda(place, ["batch", "status", "--json"])).stdout) as unknown[];
  const before = await status();
  configure(place, { modle: "demo" });
  const runs = [
    ["batch", "run", "tasks.jsonl", ...using({ url: "http://127.0.0.1:1/v1" })],
    ["batch", "run", "--resume", id, "--max-tokens", "9", "--no-sandbox"],
    ["worker", "--once", "--no-sandbox"],
  ];
  for (const { exit, stderr } of await Promise.all(runs.map((argv) => koda(place, argv))))
    expect([exit, stderr]).toEqual([2, expect.stringContaining('unknown key "modle"')]);
  expect(await status()).toEqual(before);
});

test("a list with a mistake submits nothing", async () => {
  await using place = makePlace();
  const ran = await runBatch(place, { url: "http://127.0.0.1:1/v1" }, [{ key: "a" }, { key: "a" }]);
  expect([ran.exit, ran.stdout]).toEqual([2, ""]);
  expect(ran.stderr).toContain('tasks.jsonl:2: "key" "a": already used on line 1');
  const unknown = 'Unknown provider "nosuch" in the model "nosuch/x"';
  const run = async (...flags: string[]) => await koda(place, ["batch", "run", "tasks.jsonl", ...flags]);
  place.write("tasks.jsonl", listOf([{ key: "a", options: { model: "demo" } }, { key: "b" }]));
  const flag = await run("-m", "nosuch/x");
  expect([flag.exit, flag.stderr]).toEqual([2, expect.stringContaining(`koda: ${unknown}`)]);
  place.write("tasks.jsonl", listOf([{ key: "a" }, { key: "b", options: { model: "nosuch/x" } }]));
  const option = await run("-m", "demo");
  expect([option.exit, option.stderr]).toEqual([2, expect.stringContaining(`tasks.jsonl:2: "options": ${unknown}`)]);
  expect((await koda(place, ["batch", "status", "--json"])).stdout).toBe("[]\n");
});

test("a budget in money needs a price before anything is submitted", async () => {
  await using place = makePlace();
  const ran = await runBatch(place, { url: "http://127.0.0.1:1/v1" }, [{ key: "a" }], ["--max-cost", "1"]);
  expect(ran.exit).toBe(2);
  expect(ran.stderr).toContain("price of");
  const own = await runBatch(place, { url: "http://127.0.0.1:1/v1" }, [{ key: "a", options: { "max-cost": 1 } }]);
  expect([own.exit, own.stderr]).toEqual([2, ran.stderr]);
  expect((await koda(place, ["batch", "status", "--json"])).stdout).toBe("[]\n");
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

describe("refuses, with exit 10, a batch that is not there:", () => {
  for (const verb of ["status", "watch", "cancel", "retry", "results"])
    test(verb, async () => {
      await using place = makePlace();
      const { exit, stderr } = await koda(place, ["batch", verb, "nope"]);
      const problem = 'koda: No batch "nope" in this store: see koda batch status, and check --store and KODA_STORE\n';
      expect([exit, stderr]).toEqual([10, problem]);
      expect(existsSync(database(place))).toBe(false);
    });
});
