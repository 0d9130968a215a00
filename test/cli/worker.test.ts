import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  batches,
  git,
  makeRepository,
  openStoreOf,
  resultsOf,
  startWorker,
  submit,
  taskOf,
} from "../support/fleetplace.ts";
import { call, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";

test("a worker carries out a task in a clone of its repository, and stores its answer and its patch", async () => {
  await using place = makePlace();
  const repo = makeRepository(place, { "a.txt": "one\n" });
  await using server = await startModelServer([
    call("Write", { path: "new.txt", content: "new\n" }),
    say("It is done."),
  ]);
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a", repo })]);

  const worker = startWorker(place, ["--once"]);
  expect(await worker.exit(), await worker.child.stderr.text()).toBe(0);

  expect(await worker.until("task.end")).toMatchObject({ key: "a", outcome: "done", exit: 0, attempts: 1 });
  const { a } = await resultsOf(store, batch);
  expect(a).toMatchObject({ state: "done", session: `${batch}.a`, result: { text: "It is done.", files_changed: 1 } });
  const patch = new TextDecoder().decode(await store.patch(batch, "a"));
  expect(patch).toContain("+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n");
  // Nothing is left, neither in the repository nor of the clone.
  expect(git(place, repo, "status", "--porcelain")).toBe("");
  expect(existsSync(join(batches(place), batch))).toBe(false);
});
