import { expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { KodaError } from "../../lib/errors.ts";
import type { FleetStore } from "../../lib/fleet/store.ts";
import { batches, git, makeRepository, openStoreOf, resultsOf, submit, taskOf } from "../support/fleetplace.ts";
import { worker } from "../support/fleettasks.ts";
import { workAt } from "../support/machine.ts";
import { call, problem, reply, say, silence, wait } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { until } from "../support/until.ts";
import { makePlace } from "../support/place.ts";

for (const [name, env, exit, why] of [
  ["git", { PATH: "/nonexistent" }, 7, "git was not found"],
  ["a directory for temporary files", { TMPDIR: "/nonexistent" }, 10, "Set TMPDIR to a writable directory"],
] as const)
  test(`a machine without ${name} gives the task back at no cost, takes no more, and says why`, async () => {
    await using place = makePlace();
    await using server = await startModelServer([]);
    await using store = openStoreOf(place);
    const repo = makeRepository(place, { "a.txt": "one\n" });
    const batch = await submit(store, [taskOf(server, { key: "a", repo }), taskOf(server, { key: "b" })]);
    const { end, events } = await workAt(place, store, { batch, env });
    expect(end).toMatchObject({ exit, why: expect.stringContaining(why) });
    expect(events.map(({ type }) => type)).toEqual(["task.start", "task.returned", "worker.stop"]);
    const { counts, workers } = await store.overview(batch);
    expect(counts).toMatchObject({ queued: 2 });
    expect(workers).toMatchObject([{ running: [], left: end.why }]);
  });

test.each([
  ["a signal for the whole process group, which git hears first, is no failure of the task", "returned"],
  ["a signal for git alone does not give the task back, which might go on for ever", "retried"],
])("%s", async (_, kind) => {
  await using place = makePlace();
  const repo = makeRepository(place, { "a.txt": "one\n" });
  await using server = await startModelServer([
    call("Write", { path: "new.txt", content: "new\n" }),
    say("Done."),
    say("Yes."),
  ]);
  await using store = openStoreOf(place);
  const [programs, heard] = [join(place.home, "programs"), join(place.home, "heard")];
  mkdirSync(programs);
  const script = `#!/bin/sh
case "$*" in *" add "*) [ -e ${heard} ] || { touch ${heard}; kill -INT $$; } ;; esac
exec ${Bun.which("git")} "$@"
`;
  writeFileSync(join(programs, "git"), script, { mode: 0o755 });
  const batch = await submit(store, [taskOf(server, { key: "a", repo })]);
  const env = { PATH: `${programs}:${place.env.PATH}` };
  const stop = new AbortController();
  const running = workAt(place, store, { batch, env, signal: stop.signal });
  await until(() => existsSync(heard));
  if (kind === "returned") stop.abort(new KodaError("sigint", "Stopped by SIGINT"));
  await running;
  if (kind === "returned") await workAt(place, store, { batch, env });
  const { a } = await resultsOf(store, batch);
  expect(a).toMatchObject({ state: "done", attempts: [{ kind }, { kind: "settled" }] });
  // A task that was not given back begins again.
  expect(a?.hasPatch).toBe(kind === "returned");
});

test("a machine that has no place for work trees gives the task back, and says why", async () => {
  await using place = makePlace();
  await using server = await startModelServer([]);
  await using store = openStoreOf(place);
  mkdirSync(join(batches(place), ".."), { recursive: true });
  await Bun.write(batches(place), "");
  const batch = await submit(store, [taskOf(server, { key: "a" }), taskOf(server, { key: "b" })]);
  const { end, events } = await workAt(place, store, { batch });
  expect(end).toMatchObject({ exit: 10, why: expect.stringMatching(/^Cannot write to ".*": .*not a directory/) });
  expect(events.map(({ type }) => type)).toEqual(["task.start", "task.returned", "worker.stop"]);
  expect((await store.overview(batch)).counts).toMatchObject({ queued: 2 });
});

test("credentials that are missing are the machine's fault too", async () => {
  await using place = makePlace();
  await using server = await startModelServer([problem(401, "Incorrect API key provided")]);
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a" })]);
  const { end, events } = await workAt(place, store, { batch });
  expect(end.exit).toBe(4);
  expect(events.find(({ type }) => type === "task.returned")).toMatchObject({
    exit: 4,
    error: { code: "credentials" },
  });
});

for (const [name, task, message] of [
  ["a repository that is not there", { repo: "/nowhere/at/all" }, /^git ls-remote failed/],
  ["a branch that is not there", { ref: "missing" }, /has no branch, tag or commit "missing"/],
  ["a ref that looks like a flag", { ref: "--upload-pack=touch /tmp/x" }, /has no branch, tag or commit/],
] as const)
  test(`${name} is an error of the task, which gets one more try`, async () => {
    await using place = makePlace();
    await using server = await startModelServer([]);
    await using store = openStoreOf(place);
    const repo = makeRepository(place, { "a.txt": "one\n" });
    const batch = await submit(store, [taskOf(server, { key: "a", repo, ...task })]);
    const { end } = await workAt(place, store, { batch });
    expect(end.exit).toBe(0);
    const { a } = await resultsOf(store, batch);
    expect(a).toMatchObject({
      state: "poison",
      attempts: [
        { kind: "retried", exit: 1 },
        { kind: "settled", exit: 1 },
      ],
    });
    expect(a?.attempts[1]?.error).toMatchObject({ code: "repository", message: expect.stringMatching(message) });
    expect(existsSync(join(batches(place), batch, "a"))).toBe(false);
  });

/** git that cannot reach the server once it wants a single commit. */
const cutGit = `#!/bin/sh
case "$*" in *refs/koda/*) echo "fatal: unable to access: Could not resolve host: a.example" >&2; exit 128 ;; esac
exec ${Bun.which("git")} "$@"
`;

test.each([[false], [true]])(
  "an unreachable git server is asked again later, and no provider waits for it",
  async (isMirrored) => {
    await using place = makePlace({ git: cutGit });
    await using server = await startModelServer([]);
    await using store = openStoreOf(place);
    chmodSync(join(place.project, "git"), 0o755);
    const local = { repo: makeRepository(place, { "a.txt": "one\n" }), ref: "f".repeat(40) };
    const task = isMirrored ? local : { repo: "http://127.0.0.1:1/team/api.git" };
    const batch = await submit(store, [taskOf(server, { key: "a", ...task })]);
    const { events } = await workAt(place, store, {
      batch,
      once: true,
      env: { PATH: `${place.project}:${place.env.PATH}` },
    });
    const retry = events.find((event) => event.type === "task.retry");
    expect(retry).toMatchObject({ exit: 9, error: { code: "unreachable" } });
    expect(Date.parse(retry?.not_before ?? "") - Date.now()).toBeGreaterThan(20_000);
    expect((await store.overview(batch)).paused).toEqual([]);
  },
);

/** git as it was before it knew what koda asks for. */
const oldGit = `#!/bin/sh
case "$*" in *--object-format*|*--pathspec-from-file*) echo 'error: unknown option x' >&2; exit 129 ;; esac
exec ${Bun.which("git")} "$@"
`;

test.each([["in a clone"], ["without a repository"]])(
  "a git that is too old stops the worker, not the task %s",
  async (where) => {
    await using place = makePlace({ git: oldGit });
    chmodSync(join(place.project, "git"), 0o755);
    await using server = await startModelServer([call("Write", { path: "new.txt", content: "new\n" }), say("Done.")]);
    await using store = openStoreOf(place);
    const repo = makeRepository(place, { "a.txt": "one\n" });
    const batch = await submit(store, [taskOf(server, { key: "a", ...(where === "in a clone" && { repo }) })]);
    const { end } = await workAt(place, store, { batch, env: { PATH: `${place.project}:${place.env.PATH}` } });
    expect(end).toMatchObject({ exit: 7, why: expect.stringContaining("git is too old: koda needs 2.29 or later") });
    expect((await resultsOf(store, batch)).a).toMatchObject({ state: "queued", attempts: [{ kind: "returned" }] });
  },
);

test("a directory below the clone may not lead out of it", async () => {
  await using place = makePlace();
  await using server = await startModelServer([]);
  await using store = openStoreOf(place);
  const repo = makeRepository(place, { "sub/a.txt": "one\n" });
  symlinkSync("/", join(repo, "root"));
  git(place, repo, "add", "--all");
  git(place, repo, "commit", "--quiet", "--message=link");
  const dirs = {
    up: "../x",
    git: "sub/../.git",
    hidden: ".git",
    absolute: "/etc",
    link: "root/etc",
    missing: "none",
    file: "sub/a.txt",
  };
  const tasks = Object.entries(dirs).map(([key, dir]) => taskOf(server, { key, repo, dir }));
  const batch = await submit(store, tasks);
  await workAt(place, store, { batch });
  for (const result of Object.values(await resultsOf(store, batch)))
    expect(result).toMatchObject({ state: "failed", attempts: [{ exit: 2, error: { code: "usage" } }] });
});

for (const arg of [
  "--notify=touch ran",
  "--no-sandbox",
  "-o",
  "--record=x",
  "--config=sandbox.allow_git=true",
  "x",
  "--",
])
  test(`a task that has "${arg}" in the store is not carried out`, async () => {
    await using place = makePlace();
    await using server = await startModelServer([]);
    await using store = openStoreOf(place);
    const batch = await submit(store, [taskOf(server, { key: "a", args: [arg] })]);
    await workAt(place, store, { batch });
    const { a } = await resultsOf(store, batch);
    expect(a).toMatchObject({ state: "failed", attempts: [{ exit: 2, error: { code: "usage" } }] });
    expect(a?.attempts[0]?.error?.message).toContain(`"${arg}"`);
  });

test("tasks of one repository share what is fetched, and none sees another's changes", async () => {
  await using place = makePlace();
  const repo = makeRepository(place, { "sub/a.txt": "one\n", ".gitattributes": "*.txt text eol=crlf\n" });
  await using server = await startModelServer((request) =>
    request.lines.some(({ text }) => text.includes("Wrote") || text.includes("wrote") || text.includes("new.txt"))
      ? say("Done.")
      : call("Bash", { command: "ls; git log --oneline | wc -l; git status --short; echo x > new.txt" }),
  );
  await using store = openStoreOf(place);
  const keys = ["a", "b", "c.d", "A"];
  const batch = await submit(
    store,
    keys.map((key) => taskOf(server, { key, repo, dir: "sub" })),
  );
  const { end } = await workAt(place, store, { batch, jobs: 2 });
  expect(end).toEqual({ why: "nothing left to do", exit: 0 });
  for (const key of keys) {
    expect((await resultsOf(store, batch))[key]).toMatchObject({ state: "done" });
    const patch = new TextDecoder().decode(await store.patch(batch, key));
    expect(patch.match(/^diff --git .*$/gm)).toEqual(["diff --git a/sub/new.txt b/sub/new.txt"]);
  }
  const first = server.requests.flatMap(({ lines }) => lines.find(({ text }) => text.includes("a.txt"))?.text ?? []);
  expect(first.length).toBeGreaterThanOrEqual(keys.length);
  expect(first.filter((text) => text.includes("new.txt"))).toEqual([]);
});

test("a task without a repository works in an empty directory, or in one of the machine's", async () => {
  await using place = makePlace({ "old.txt": "old\n" });
  await using server = await startModelServer([
    call("Write", { path: "a.txt", content: "1\n" }),
    say("Done."),
    call("Write", { path: "b.txt", content: "2\n" }),
    say("Done."),
  ]);
  await using store = openStoreOf(place);
  const tasks = [taskOf(server, { key: "a" }), taskOf(server, { key: "b", dir: place.project })];
  const batch = await submit(store, tasks);
  await workAt(place, store, { batch });
  expect(await patchOf(store, batch, "a")).toContain("+++ b/a.txt\n@@ -0,0 +1 @@\n+1\n");
  expect(await patchOf(store, batch, "b")).toContain("+++ b/b.txt");
  expect(readFileSync(join(place.project, "b.txt"), "utf8")).toBe("2\n");
  expect(existsSync(join(batches(place), batch, "a"))).toBe(false);
  // The command that goes on names the directory, if that is still there.
  const { a, b } = await resultsOf(store, batch);
  expect(a?.result).not.toHaveProperty("resume");
  expect(b?.result?.resume).toContain(place.project);
});

async function patchOf(store: FleetStore, batch: string, key: string): Promise<string> {
  return new TextDecoder().decode(await store.patch(batch, key));
}

test("a task that has spent its share of the budget goes on with more, and is settled when there is none", async () => {
  await using place = makePlace();
  const usage = { input: 600, output: 0 };
  await using server = await startModelServer((_, index) =>
    index < 20 ? reply(call("Write", { path: `${index}.txt`, content: "x" }), { usage }) : say("Done."),
  );
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a" })], { maxTokens: 4000 });
  await workAt(place, store, { batch });
  const { a } = await resultsOf(store, batch);
  expect(a).toMatchObject({ state: "limit", attempts: [{ kind: "settled", exit: 5 }] });
  // At most one request beyond the cap.
  expect(a?.spent.tokens).toBeGreaterThan(3000);
  expect(a?.spent.tokens).toBeLessThanOrEqual(4600);
  expect(server.requests.length).toBeGreaterThan(5);
  // One session, one prompt.
  expect(server.requests.at(-1)?.lines.filter(({ text }) => text.includes("Do a"))).toHaveLength(1);
});

test("a task in a directory of the machine's has the changes of all its runs in its patch", async () => {
  await using place = makePlace({ "old.txt": "old\n" });
  const usage = { input: 600, output: 0 };
  await using server = await startModelServer((_, index) =>
    index < 4 ? reply(call("Bash", { command: `echo ${index} >> log.txt` }), { usage }) : say("Done."),
  );
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a", dir: place.project })], { maxTokens: 10_000 });
  const { events } = await workAt(place, store, { batch });
  expect(events.find(({ type }) => type === "task.end")).toMatchObject({ outcome: "done" });
  const patch = join(place.home, "a.patch");
  await Bun.write(patch, (await store.patch(batch, "a")) ?? "");
  const copy = makeRepository(place, { "old.txt": "old\n" }, "copy");
  git(place, copy, "apply", patch);
  // A call that comes with the reply at a limit is not made.
  expect(readFileSync(join(copy, "log.txt"), "utf8")).toBe("0\n2\n");
  expect(readFileSync(join(place.project, "log.txt"), "utf8")).toBe("0\n2\n");
});

test("a limit of the task's own is no matter of the budget", async () => {
  await using place = makePlace();
  const usage = { input: 600, output: 0 };
  await using server = await startModelServer((_, index) =>
    reply(call("Write", { path: `${index}.txt`, content: "x" }), { usage }),
  );
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a", maxTokens: 1000 })], { maxTokens: 100_000 });
  await workAt(place, store, { batch });
  expect((await resultsOf(store, batch)).a).toMatchObject({
    state: "limit",
    attempts: [{ error: { code: "max_tokens", message: "Token limit reached: 1200 of 1000 (--task-max-tokens)" } }],
  });
  expect(server.requests).toHaveLength(2);
});

test("a cancelled batch stops its running tasks", async () => {
  await using place = makePlace();
  await using server = await startModelServer([[say("Well"), silence()]]);
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a" })], { leaseMs: 300 });
  const running = workAt(place, store, { batch });
  await server.nextRequest();
  expect(await store.cancel(batch)).toBe(1);
  const { events } = await running;
  expect(events.find(({ type }) => type === "task.end")).toMatchObject({ outcome: "cancelled" });
});

test("a short lease is kept up beside a long one", async () => {
  await using place = makePlace();
  const { promise: enough, resolve } = Promise.withResolvers<void>();
  await using server = await startModelServer(() => [wait(enough), say("Done.")]);
  await using store = openStoreOf(place);
  const long = await submit(store, [taskOf(server, { key: "a" })], { leaseMs: 60_000 });
  const running = workAt(place, store, { jobs: 2, drainAfterMs: 0 });
  await server.nextRequest();
  const short = await submit(store, [taskOf(server, { key: "b" })], { leaseMs: 400 });
  await server.nextRequest();
  const other = { ...worker(), id: "other" };
  for (const start = performance.now(); performance.now() - start < 1500; await Bun.sleep(50))
    expect(await store.claim(other)).not.toHaveProperty("task");
  resolve();
  await running;
  for (const [batch, key] of [
    [long, "a"],
    [short, "b"],
  ] as const)
    expect((await resultsOf(store, batch))[key]).toMatchObject({ state: "done", attempts: [{ kind: "settled" }] });
});

test("a store that is away for a while costs nothing", async () => {
  await using place = makePlace();
  await using server = await startModelServer([call("Write", { path: "a.txt", content: "1\n" }), say("Done.")]);
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a" })], { leaseMs: 600 });
  const failed = new Set<unknown>();
  const shaky = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return async (...args: unknown[]) => {
        // The first question of each kind gets no answer.
        if (failed.size !== failed.add(name).size) throw new KodaError("store", "Cannot reach the store");
        return await value.apply(target, args);
      };
    },
  });
  const { end, events } = await workAt(place, shaky, { batch });
  expect(end.exit).toBe(0);
  expect(events.filter(({ type }) => type === "worker.note")).not.toEqual([]);
  expect((await resultsOf(store, batch)).a).toMatchObject({ state: "done", attempts: [{ kind: "settled" }] });
});

test("checkpoints that cannot be stored for one reason are told of once", async () => {
  await using place = makePlace();
  let asked = 0;
  await using server = await startModelServer(async (_, index) => {
    await until(() => asked >= index, "a checkpoint after each reply");
    return index < 3 ? call("Read", { path: "a.txt" }) : say("Done.");
  });
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a" })]);
  const full = new Proxy(store, {
    get(target, name) {
      if (name !== "checkpoint") return Reflect.get(target, name).bind(target);
      asked += 1;
      return () => Promise.reject(new KodaError("store", "It is full"));
    },
  });
  const { events } = await workAt(place, full, { batch, checkpointMs: 0 });
  const notes = events.flatMap((event) => (event.type === "task.note" ? event.message : []));
  expect(notes).toEqual(["A checkpoint could not be stored: It is full"]);
});

test("a worker that has nothing to do tells of each time that the store is away", async () => {
  await using place = makePlace();
  await using store = openStoreOf(place);
  let asked = 0;
  const shaky = new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(target, name).bind(target);
      if (name !== "claim") return value;
      return async (...args: unknown[]) => {
        if (++asked % 2 === 1 && asked < 5) throw new KodaError("store", `Cannot reach the store: ${asked}`);
        return await value(...args);
      };
    },
  });
  const { events } = await workAt(place, shaky, { drainAfterMs: 2_000 });
  const notes = events.flatMap((event) => (event.type === "worker.note" ? event.message : []));
  expect(notes).toEqual(["Cannot reach the store: 1", "Cannot reach the store: 3"]);
});

test("a store that stays away ends the worker with its code", async () => {
  await using place = makePlace();
  await using store = openStoreOf(place);
  const gone = new Proxy(store, {
    get(target, name) {
      if (name === "claim") return () => Promise.reject(new KodaError("store", "Cannot reach the store"));
      return Reflect.get(target, name).bind(target);
    },
  });
  const { end } = await workAt(place, gone, { patienceMs: 300 });
  expect(end).toEqual({ why: "Cannot reach the store", exit: 10 });
});

test("a worker that cannot say that it leaves ends with the code of that", async () => {
  await using place = makePlace();
  await using store = openStoreOf(place);
  const gone = new Proxy(store, {
    get(target, name) {
      if (name === "leave") return () => Promise.reject(new KodaError("store", "Cannot reach the store"));
      return Reflect.get(target, name).bind(target);
    },
  });
  const { end } = await workAt(place, gone, { once: true, patienceMs: 0 });
  expect(end).toEqual({ why: "Cannot reach the store", exit: 10 });
});

test("a worker that is told to stop waits for no reason why it is idle", async () => {
  await using place = makePlace();
  await using server = await startModelServer([]);
  await using store = openStoreOf(place);
  await submit(store, [taskOf(server, { key: "a", labels: ["gpu"] })]);
  const stop = new AbortController();
  const silent = new Proxy(store, {
    get(target, name) {
      if (name !== "missingLabels") return Reflect.get(target, name).bind(target);
      return () => {
        stop.abort(new KodaError("sigterm", "Stopped by SIGTERM"));
        return new Promise(() => {});
      };
    },
  });
  const { end } = await workAt(place, silent, { signal: stop.signal });
  expect(end).toEqual({ why: "Stopped by SIGTERM", exit: 143 });
});

test("a worker that drains ends when there was nothing to do for that long", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("Done.")]);
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a" })]);
  const { end } = await workAt(place, store, { drainAfterMs: 200 });
  expect(end).toEqual({ why: "nothing to do", exit: 0 });
  expect((await resultsOf(store, batch)).a).toMatchObject({ state: "done" });
});

test("one run is settled with the code that its exec has said, and its tree is kept when that is wanted", async () => {
  await using place = makePlace();
  await using server = await startModelServer([
    call("Write", { path: "a.txt", content: "1\n" }),
    say("Not JSON."),
    say("No."),
    say("No."),
    say("No."),
    say('{"n":1}'),
  ]);
  await using store = openStoreOf(place);
  const schema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
  mkdirSync(place.project, { recursive: true });
  const batch = await submit(store, [taskOf(server, { key: "a", schema })]);
  const { events } = await workAt(place, store, { batch, keepTrees: true });
  expect(events.find(({ type }) => type === "task.end")).toMatchObject({
    outcome: "failed",
    exit: 6,
    error: { code: "schema" },
  });
  const tree = join(batches(place), batch, "a");
  expect(readFileSync(join(tree, "a.txt"), "utf8")).toBe("1\n");
  expect((await resultsOf(store, batch)).a?.result?.resume).toContain(`--cd ${tree}`);
  await store.retry(batch, { outcomes: ["failed"] });
  await workAt(place, store, { batch });
  expect((await resultsOf(store, batch)).a).toMatchObject({ state: "done" });
  expect(readFileSync(join(tree, "a.txt"), "utf8")).toBe("1\n");
});

test("a worker says what it waits for when only tasks with other labels are left", async () => {
  await using place = makePlace();
  await using server = await startModelServer([]);
  await using store = openStoreOf(place);
  await submit(store, [taskOf(server, { key: "a", labels: ["gpu"] })]);
  const why = "some tasks need labels that this worker does not have: gpu";
  const { end } = await workAt(place, store, { drainAfterMs: 0 });
  expect(end).toEqual({ why: `nothing to do, but ${why}`, exit: 0 });
  const stop = new AbortController();
  const { events } = await workAt(place, store, { once: true, signal: stop.signal, onEvent: () => stop.abort() });
  expect(events[0]).toMatchObject({ type: "worker.note", message: `Waiting: ${why}` });
});
