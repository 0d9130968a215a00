import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { KodaError } from "../../lib/errors.ts";
import type { FleetEvent } from "../../lib/fleet/events.ts";
import { mirrorOf } from "../../lib/fleet/work/batchdirectory.ts";
import { mirrorName } from "../../lib/fleet/work/mirror.ts";
import { batches, git, makeRepository, openStoreOf, resultsOf, submit, taskOf } from "../support/fleetplace.ts";
import { workAt } from "../support/machine.ts";
import { call, say, silence } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";

/** git that holds the lock of its index for a second, as in a large tree, and refuses to wait for another one. */
const slowGit = `#!/bin/sh
case "$*" in *" add --all "*)
  (set -C; : > "$GIT_DIR/index.lock") 2>/dev/null || { echo "fatal: Unable to create 'index.lock': File exists." >&2; exit 128; }
  sleep 1; rm "$GIT_DIR/index.lock" ;;
esac
exec ${Bun.which("git")} "$@"
`;

test("a task that ends while a checkpoint of it is taken is done all the same", async () => {
  await using place = makePlace();
  const repo = makeRepository(place, { "a.txt": "one\n" });
  const programs = join(place.home, "programs");
  mkdirSync(programs);
  writeFileSync(join(programs, "git"), slowGit, { mode: 0o755 });
  await using server = await startModelServer([call("Write", { path: "new.txt", content: "new\n" }), say("Done.")]);
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a", repo })]);
  const env = { PATH: `${programs}:${place.env.PATH}` };
  const { events } = await workAt(place, store, { batch, env, checkpointMs: 0 });
  expect(events.map(({ type }) => type)).toEqual(["task.start", "task.end", "worker.stop"]);
  expect((await resultsOf(store, batch)).a).toMatchObject({ state: "done", attempts: [{ kind: "settled" }] });
  expect(new TextDecoder().decode(await store.patch(batch, "a"))).toContain("+++ b/new.txt");
});

test("a lock that a killed worker has left is no reason to fail for the one that goes on there", async () => {
  await using place = makePlace();
  const repo = makeRepository(place, { "a.txt": "one\n" });
  const answers = [call("Write", { path: "new.txt", content: "new\n" }), [say("So far "), silence()]];
  await using server = await startModelServer((_, index) => answers[index] ?? say("Done."));
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a", repo })], { transcripts: "none" });
  const stop = new AbortController();
  const running = workAt(place, store, { batch, signal: stop.signal });
  await server.nextRequest();
  await server.nextRequest();
  stop.abort(new KodaError("sigterm", "Stopped by SIGTERM"));
  await running;
  writeFileSync(join(batches(place), batch, ".koda/a/shadow/index.lock"), "");
  await workAt(place, store, { batch });
  expect((await resultsOf(store, batch)).a).toMatchObject({ state: "done" });
  expect(new TextDecoder().decode(await store.patch(batch, "a"))).toContain("+++ b/new.txt");
});

test("what a killed fetch has left in a mirror is no reason to fail for the next one", async () => {
  await using place = makePlace();
  const repo = makeRepository(place, { "a.txt": "one\n" });
  await using server = await startModelServer([say("Done."), say("Done.")]);
  await using store = openStoreOf(place);
  const after = { key: "b", repo, after: ["a"] };
  const batch = await submit(store, [taskOf(server, { key: "a", repo }), taskOf(server, after)]);
  const refs = join(mirrorOf(join(batches(place), batch), repo), "refs/koda");
  const leaveLock = () => {
    mkdirSync(refs, { recursive: true });
    writeFileSync(join(refs, mirrorName("refs/heads/main").replace(".git", ".lock")), "");
  };
  leaveLock();
  const onEvent = ({ type }: FleetEvent) => {
    if (type !== "task.end") return;
    leaveLock();
    git(place, repo, "commit", "--quiet", "--allow-empty", "--message=second");
  };
  await workAt(place, store, { batch, onEvent });
  const results = Object.values(await resultsOf(store, batch));
  expect(results.map(({ state, attempts }) => [state, attempts.length])).toEqual([
    ["done", 1],
    ["done", 1],
  ]);
});

test("git runs four times for a task in a clone, and never for one that leaves its directory empty", async () => {
  await using place = makePlace();
  const repo = makeRepository(place, { "a.txt": "one\n" });
  const [programs, log] = [join(place.home, "programs"), join(place.home, "log")];
  mkdirSync(programs);
  const script = `#!/bin/sh\necho "$GIT_DIR $*" >> ${log}\nexec ${Bun.which("git")} "$@"\n`;
  writeFileSync(join(programs, "git"), script, { mode: 0o755 });
  await using server = await startModelServer(() => say("Done."));
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a", repo }), taskOf(server, { key: "b" })]);
  await workAt(place, store, { batch, env: { PATH: `${programs}:${place.env.PATH}` } });
  const lines = readFileSync(log, "utf8").trimEnd().split("\n");
  const own = lines.filter((line) => !/^\S+\/%mirrors\//.test(line));
  const commands = own.map((line) => /^(?:\S+)(?: -c \S+)* (\S+)/.exec(line)?.[1]);
  expect(commands).toEqual(["init", "read-tree", "add", "diff-index"]);
});
