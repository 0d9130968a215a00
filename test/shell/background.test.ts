import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Tasks } from "../../lib/shell/background.ts";
import type { KeptStream } from "../../lib/shell/capture.ts";
import { makePlace } from "../support/place.ts";
import { isAlive, makeShell, shellIn } from "../support/shell.ts";

/** A store that a test can wait for. */
const store = () => {
  let text = { stdout: "", stderr: "" };
  let count = 0;
  let wake = Promise.withResolvers<void>();
  return {
    output: "o1",
    save(stdout: KeptStream, stderr: KeptStream) {
      text = { stdout: Buffer.from(stdout.head).toString(), stderr: Buffer.from(stderr.head).toString() };
      count++;
      wake.resolve();
      wake = Promise.withResolvers();
    },
    text: () => text,
    count: () => count,
    async saved(pattern: RegExp) {
      while (!pattern.test(text.stdout)) await wake.promise;
    },
  };
};

/** Looks until something is there; returns all that was shown. */
const lookUntil = async (tasks: Tasks, id: string, pattern: RegExp): Promise<string> => {
  let text = "";
  while (!pattern.test(text)) {
    text += Buffer.from(tasks.look(id)?.fresh.stdout.head ?? []).toString();
    await Bun.sleep(5);
  }
  return text;
};

const endOf = async (tasks: Tasks, id: string) => {
  while (tasks.list().find((task) => task.id === id)?.state.status === "running") await Bun.sleep(5);
  return tasks.list().find((task) => task.id === id);
};

test("a task is there at once, runs on its own, and its end and output can be seen", async () => {
  await using shell = makeShell();
  const tasks = new Tasks(shell);
  const kept = store();
  const task = tasks.start("echo one; echo two >&2; exit 7", kept);
  expect(task).toMatchObject({ id: "t1", state: { status: "running" }, output: "o1" });
  expect(await endOf(tasks, "t1")).toMatchObject({ id: "t1", state: { status: "exited", code: 7 } });
  expect(kept.text()).toEqual({ stdout: "one\n", stderr: "two\n" });
  expect(kept.count()).toBe(1);
});

test("a look shows what is new since the last one, and nothing twice", async () => {
  await using place = makePlace();
  await using shell = shellIn(place);
  const tasks = new Tasks(shell);
  tasks.start("echo first; until [ -e go ]; do sleep 0.01; done; echo second", store());
  expect(await lookUntil(tasks, "t1", /\n/)).toBe("first\n");
  expect(tasks.look("t1")?.fresh.stdout.totalBytes).toBe(0);
  place.write("go", "");
  expect(await lookUntil(tasks, "t1", /\n/)).toBe("second\n");
  await endOf(tasks, "t1");
  expect(tasks.look("t1")?.fresh.stdout.totalBytes).toBe(0);
  expect(tasks.look("t1")).toMatchObject({ task: { state: { status: "exited", code: 0 } } });
});

test.concurrent("what it prints is in the store while it still runs", async () => {
  await using shell = makeShell();
  const tasks = new Tasks(shell);
  const kept = store();
  tasks.start("echo listening; exec sleep 1000", kept);
  await kept.saved(/listening/);
  expect(tasks.list()[0]?.state.status).toBe("running");
  // Nothing new, nothing written.
  tasks.look("t1");
  tasks.look("t1");
  expect(kept.count()).toBe(1);
});

test("stopping one ends all of it, and leaves the others alone", async () => {
  await using shell = makeShell();
  const tasks = new Tasks(shell);
  tasks.start("sleep 1000 & echo $!; wait", store());
  tasks.start("echo $$; exec sleep 1000", store());
  const child = Number(await lookUntil(tasks, "t1", /\n/));
  const other = Number(await lookUntil(tasks, "t2", /\n/));
  expect(await tasks.stop("t1")).toMatchObject({ state: { status: "killed", signal: "SIGTERM" } });
  expect(isAlive(child)).toBe(false);
  expect(isAlive(other)).toBe(true);
  await tasks.stopAll();
  expect(isAlive(other)).toBe(false);
  expect(tasks.list().map(({ state }) => state.status)).toEqual(["killed", "killed"]);
});

test("a server that its command line sent to the background still is the task", async () => {
  await using place = makePlace();
  await using shell = shellIn(place);
  const tasks = new Tasks(shell);
  tasks.start("echo $$; (until [ -e go ]; do sleep 0.01; done; touch went) >/dev/null 2>&1 &", store());
  const pid = Number(await lookUntil(tasks, "t1", /\n/));
  while (isAlive(pid)) await Bun.sleep(5);
  // Long enough for the end of the shell to be taken for the end of the task.
  await Bun.sleep(300);
  expect(tasks.list()).toMatchObject([{ state: { status: "running" } }]);
  place.write("go", "");
  expect(await endOf(tasks, "t1")).toMatchObject({ state: { status: "exited", code: 0 } });
  expect(existsSync(join(place.project, "went"))).toBe(true);
});

test("stopping the shell ends the tasks that were started with it", async () => {
  await using place = makePlace();
  const shell = shellIn(place);
  const tasks = new Tasks(shell);
  tasks.start("echo $$; exec sleep 1000", store());
  const pid = Number(await lookUntil(tasks, "t1", /\n/));
  await shell.stopAll();
  expect(isAlive(pid)).toBe(false);
  expect(await endOf(tasks, "t1")).toMatchObject({ state: { status: "killed" } });
});

test("tasks of different owners on one shell have their own numbers and ends", async () => {
  await using shell = makeShell();
  const [mine, theirs] = [new Tasks(shell), new Tasks(shell)];
  mine.start("exec sleep 1000", store());
  theirs.start("exec sleep 1000", store());
  await mine.stopAll();
  expect(mine.list()[0]).toMatchObject({ id: "t1", state: { status: "killed" } });
  expect(theirs.list()[0]).toMatchObject({ id: "t1", state: { status: "running" } });
});

test("a store that fails is heard of at the next look, and everything is stopped all the same", async () => {
  await using shell = makeShell();
  const tasks = new Tasks(shell);
  const save = () => {
    throw new Error("disk full");
  };
  tasks.start("echo $$; exec sleep 1000", { output: "o1", save });
  const other = store();
  tasks.start("echo $$; exec sleep 1000", other);
  const pid = Number(await lookUntil(tasks, "t2", /\n/));
  await expect(async () => lookUntil(tasks, "t1", /\n/)).toThrow("disk full");
  await expect(tasks.stopAll()).rejects.toThrow("disk full");
  expect(isAlive(pid)).toBe(false);
  expect(tasks.list().map(({ state }) => state.status)).toEqual(["killed", "killed"]);
});

test("an unknown task is nobody", async () => {
  await using shell = makeShell();
  const tasks = new Tasks(shell);
  expect(tasks.look("t1")).toBeUndefined();
  expect(await tasks.stop("t1")).toBeUndefined();
  expect(tasks.list()).toEqual([]);
  await tasks.stopAll();
});
