import { expect, test } from "bun:test";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import {
  batches,
  makeRepository,
  openStoreOf,
  processesOf,
  resultsOf,
  startWorker,
  submit,
  taskOf,
  untilGone,
} from "../support/fleetplace.ts";
import { binary, exec } from "../support/koda.ts";
import { runIn } from "../support/run.ts";
import { call, say, silence } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";

for (const args of [[], ["--no-sandbox"]])
  test(`a killed worker leaves no process, and the next one goes on in its session and its work tree ${args.join()}`, async () => {
    await using place = makePlace();
    const repo = makeRepository(place, { "a.txt": "one\n" });
    await using server = await startModelServer([
      call("Bash", { command: "echo new > new.txt; (sleep 300; echo late) & sleep 301", description: "Wait" }),
      say("It was interrupted, and is done now."),
    ]);
    await using store = openStoreOf(place);
    const batch = await submit(store, [taskOf(server, { key: "a", repo })]);

    const first = startWorker(place, args);
    await server.nextRequest();
    const tree = join(batches(place), batch, "a");
    while (!existsSync(join(tree, "new.txt"))) await Bun.sleep(10);
    first.child.kill("SIGKILL");
    await untilGone(place);

    const second = startWorker(place, ["--once"]);
    expect(await second.exit(), await second.child.stderr.text()).toBe(0);
    expect(await second.until("task.start")).toMatchObject({ attempt: 2 });
    const { a } = await resultsOf(store, batch);
    expect(a).toMatchObject({ state: "done", session: `${batch}.a` });
    expect(a?.attempts.map(({ kind }) => kind)).toEqual(["lost", "settled"]);
    expect(server.requests).toHaveLength(2);
    expect(server.requests[1]?.lines.filter(({ text }) => text.includes("Do a"))).toHaveLength(1);
    expect(new TextDecoder().decode(await store.patch(batch, "a"))).toContain("+++ b/new.txt");
    expect(processesOf(place)).toEqual([]);
  });

test("a worker that is killed while it fetches leaves no git behind", async () => {
  await using place = makePlace();
  await using server = await startModelServer([]);
  await using store = openStoreOf(place);
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  // A server that takes the request and never answers.
  using silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => resolve() } });
  const batch = await submit(store, [taskOf(server, { key: "a", repo: `git://127.0.0.1:${silent.port}/repo` })]);
  const worker = startWorker(place);
  await asked;
  expect(processesOf(place).filter((line) => line.includes("ls-remote"))).not.toEqual([]);
  worker.child.kill("SIGKILL");
  await untilGone(place);

  // What it has left is removed when the batch is over.
  await store.cancel(batch);
  expect(existsSync(join(batches(place), batch))).toBe(true);
  expect(await startWorker(place, ["--once"]).exit()).toBe(0);
  expect(existsSync(join(batches(place), batch))).toBe(false);
});

test("a run that is killed gets one more try, from its beginning", async () => {
  await using place = makePlace();
  await using server = await startModelServer((_, index) => (index === 0 ? silence() : say("Done.")));
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a" })]);
  const worker = startWorker(place, ["--drain-after", "0"]);
  await server.nextRequest();
  const run = processesOf(place).find((line) => line.includes(" exec --json "));
  process.kill(Number.parseInt(run ?? "", 10), "SIGKILL");
  expect(await worker.until("task.retry")).toMatchObject({ exit: 70, error: { code: "killed" } });
  expect(await worker.exit()).toBe(0);
  const { a } = await resultsOf(store, batch);
  expect(a?.attempts[0]?.error?.message).toStartWith("koda exec was killed by SIGKILL");
  expect(a).toMatchObject({
    state: "done",
    session: `${batch}.a.2`,
    attempts: [{ kind: "retried" }, { kind: "settled" }],
  });
});

test("a run whose parent is gone does nothing", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("Never said.")]);
  const { end } = await exec(place, server, ["x"], { env: { KODA_PARENT: "1" } });
  expect(end).toMatchObject({ exit: 143, error: { code: "sigterm" } });
  expect(server.requests).toHaveLength(0);
});

test("a disk without space is the machine's fault", async () => {
  await using place = makePlace();
  await using server = await startModelServer([]);
  await using store = openStoreOf(place);
  const large = crypto.getRandomValues(new Uint8Array(60_000));
  const repo = makeRepository(place, { a: large, b: crypto.getRandomValues(new Uint8Array(60_000)) });
  const batch = await submit(store, [taskOf(server, { key: "a", repo })]);
  mkdirSync(join(place.home, ".cache"));
  const script = 'mount -t tmpfs -o size=128k none "$HOME/.cache" && exec "$0" worker --json';
  const { stdout, exit } = await runIn(place, ["unshare", "--map-root-user", "--mount", "sh", "-c", script, binary]);
  expect(stdout).toContain("No space left on device");
  expect(exit).toBe(10);
  expect((await resultsOf(store, batch)).a).toMatchObject({ state: "queued", attempts: [{ kind: "returned" }] });
});

test("where the sandbox cannot protect .git, what a task does there is not in the next clone", async () => {
  await using place = makePlace();
  const repo = makeRepository(place, { "a.txt": "one\n" });
  const command = "for f in $(find .git/objects -type f); do chmod u+w $f && echo x > $f && echo changed; done";
  await using server = await startModelServer(({ lines }) =>
    lines.at(-1)?.role === "user" ? call("Bash", { command, description: "Change objects" }) : say("Done."),
  );
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a", repo }), taskOf(server, { key: "b", repo })]);
  const script = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$0" worker --json --drain-after 1ms';
  const { exit, stderr } = await runIn(place, ["unshare", "--map-root-user", "sh", "-c", script, binary]);
  expect(exit, stderr).toBe(0);
  expect(server.requests.map(({ lines }) => lines.at(-1)?.text ?? "").join("")).toContain("changed");
  const { a, b } = await resultsOf(store, batch);
  expect([a?.state, b?.state]).toEqual(["done", "done"]);
});

test("a worker that was stopped for longer than its lease changes nothing when it continues", async () => {
  await using place = makePlace();
  const repo = makeRepository(place, { "a.txt": "one\n" });
  const answers = [
    [call("Write", { path: "first.txt", content: "1\n" }), silence()],
    call("Write", { path: "second.txt", content: "2\n" }),
    say("Done by the second."),
  ];
  await using server = await startModelServer((_, index) => answers[index]);
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a", repo })], { leaseMs: 1000 });

  const first = startWorker(place);
  await server.nextRequest();
  first.child.kill("SIGSTOP");
  const second = startWorker(place, ["--once"]);
  expect(await second.until("task.end")).toMatchObject({ key: "a", outcome: "done", attempts: 2 });
  const before = (await resultsOf(store, batch)).a;
  first.child.kill("SIGCONT");
  await first.until("task.superseded", "a");
  first.child.kill("SIGTERM");
  expect(await first.exit()).toBe(143);

  const { a } = await resultsOf(store, batch);
  expect(a).toMatchObject({ ...before, attempts: [{ kind: "superseded" }, { kind: "settled" }] });
  expect(a?.result?.text).toBe("Done by the second.");
  expect(new TextDecoder().decode(await store.patch(batch, "a"))).not.toContain("first.txt");
  expect(await second.exit()).toBe(0);
  expect(processesOf(place)).toEqual([]);
  expect(existsSync(join(batches(place), batch))).toBe(false);
});

test("a worker that is told to stop gives its task back, and another one goes on from the checkpoint", async () => {
  await using place = makePlace();
  const repo = makeRepository(place, { "a.txt": "one\n" });
  const answers = [call("Write", { path: "new.txt", content: "new\n" }), [say("So far "), silence()], say("Done.")];
  await using server = await startModelServer((_, index) => answers[index]);
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a", repo })]);

  const first = startWorker(place);
  await server.nextRequest();
  await server.nextRequest();
  first.child.kill("SIGTERM");
  expect(await first.exit()).toBe(143);
  expect(await first.until("task.returned", "a")).toMatchObject({ attempt: 1, exit: 143 });
  expect(await first.until("worker.stop")).toMatchObject({ why: "Stopped by SIGTERM", exit: 143 });
  expect(existsSync(join(batches(place), batch, "a"))).toBe(false);

  const second = startWorker(place, ["--once"]);
  expect(await second.exit(), await second.child.stderr.text()).toBe(0);
  expect(server.requests).toHaveLength(3);
  expect(server.requests[2]?.raw).toContain("new.txt");
  const { a } = await resultsOf(store, batch);
  expect(a).toMatchObject({ state: "done", attempts: [{ kind: "returned" }, { kind: "settled" }] });
  expect(new TextDecoder().decode(await store.patch(batch, "a"))).toContain("+++ b/new.txt");
});
