import { expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { FleetTask } from "../../lib/fleet/task.ts";
import { git, makeRepository, openStoreOf, resultsOf, submit, taskOf } from "../support/fleetplace.ts";
import { workAt } from "../support/machine.ts";
import { call, say, wait } from "../support/model-reply.ts";
import { type ModelServer, startModelServer, type Script } from "../support/model-server.ts";
import { makePlace, type Place } from "../support/place.ts";
import { until } from "../support/until.ts";

const change = [call("Write", { path: "new.txt", content: "new\n" }), say("Done.")];

/** A task that publishes what it has done to a bare repository. */
async function published(script: Script, task: Partial<FleetTask> = {}, choice: Parameters<typeof workAt>[2] = {}) {
  const place = makePlace();
  const repo = join(dirname(place.project), "bare.git");
  git(place, dirname(place.project), "clone", "--quiet", "--bare", makeRepository(place, { "a.txt": "one\n" }), repo);
  const server = await startModelServer(script);
  const store = openStoreOf(place);
  const publish = { branch: "koda/a" };
  const batch = await submit(store, [taskOf(server, { key: "a", repo, publish, prompt: "Fix it\nnow", ...task })]);
  const work = () => workAt(place, store, { ...choice, batch });
  return { place, repo, server, store, batch, work, [Symbol.asyncDispose]: () => closed(place, server) };
}

async function closed(place: Place, server: ModelServer): Promise<void> {
  await server.close();
  await place[Symbol.asyncDispose]();
}

test("what a task has changed is pushed as one commit, and then the user's own command runs", async () => {
  const publishCommand = 'env | grep ^KODA_ | sort > "$HOME/published"; test -d "$KODA_TREE" && test -z "$GIT_DIR"';
  // As in a hook of git.
  await using task = await published(change, {}, { publishCommand, env: { GIT_DIR: "/nonexistent" } });
  const { place, repo } = task;
  git(place, repo, "config", "user.name", "Nobody");
  const { events } = await task.work();
  const end = events.find((event) => event.type === "task.end");
  expect(end).toMatchObject({ outcome: "done", published: { branch: "koda/a" } });
  const { branch = "", commit = "" } = end?.published ?? {};
  expect(git(place, repo, "rev-parse", branch).trim()).toBe(commit);
  expect(git(place, repo, "log", "-1", "--format=%an %ae %cn%n%B", branch)).toBe(
    `koda koda@localhost koda\nFix it\n\nBatch: ${task.batch}\nTask: a\n\n`,
  );
  expect(git(place, repo, "diff", "--name-status", "main", branch)).toBe("A\tnew.txt\n");
  expect(readFileSync(join(place.home, "published"), "utf8")).toMatch(
    new RegExp(
      `^KODA_BATCH=${task.batch}\nKODA_BRANCH=koda/a\nKODA_COMMIT=${commit}\nKODA_KEY=a\nKODA_REPO=${repo}\nKODA_TREE=/.*/a\n$`,
    ),
  );
});

test("a repository with a part of its history, as CI checks it out, is cloned and published to", async () => {
  await using place = makePlace();
  const origin = makeRepository(place, { "a.txt": "one\n" });
  await Bun.write(join(origin, "a.txt"), "two\n");
  git(place, origin, "commit", "--all", "--quiet", "--message=second");
  const repo = join(dirname(place.project), "shallow");
  git(place, dirname(repo), "clone", "--quiet", "--depth=1", `file://${origin}`, repo);
  const look = call("Bash", { command: "git log --format=%s && git fsck", description: "Look" });
  await using server = await startModelServer([look, ...change]);
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a", repo, publish: { branch: "koda/a" } })]);
  const { events } = await workAt(place, store, { batch });
  expect(server.requests[1]?.lines.at(-1)?.text).toMatch(/^Exit code: 0 [^]*\nsecond$/m);
  const { published } = events.find((event) => event.type === "task.end") ?? {};
  expect(git(place, repo, "diff", "--name-status", "origin/main", published?.commit ?? "")).toBe("A\tnew.txt\n");
  git(place, repo, "push", "--quiet", "origin", "koda/a");
});

test("nothing is pushed without a change, nor by a task that has failed", async () => {
  await using same = await published([say("Nothing to do.")]);
  await same.work();
  expect(git(same.place, same.repo, "branch", "--list")).toBe("* main\n");
  await using failed = await published((_, index) => change[index] ?? say("Done."), { args: ["--verify=false"] });
  await failed.work();
  expect((await resultsOf(failed.store, failed.batch)).a).toMatchObject({ state: "failed" });
  expect(git(failed.place, failed.repo, "branch", "--list")).toBe("* main\n");
});

test("a branch that someone else has pushed meanwhile is not overwritten", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const script = (_: unknown, index: number) =>
    [call("Write", { path: "new.txt", content: "new\n" }), [wait(promise), say("Done.")]][index % 2];
  await using task = await published(script);
  const { place, repo, server } = task;
  const running = task.work();
  await server.nextRequest();
  await server.nextRequest();
  git(place, repo, "branch", "koda/a", "main");
  const before = git(place, repo, "rev-parse", "koda/a");
  resolve();
  await running;
  const { a } = await resultsOf(task.store, task.batch);
  expect(a).toMatchObject({ state: "failed", hasPatch: true, attempts: [{ exit: 3, error: { code: "publish" } }] });
  expect(a?.attempts[0]?.error?.message).toContain("stale info");
  expect(git(place, repo, "rev-parse", "koda/a")).toBe(before);
});

test.each([["koda/a"], [undefined]])(
  "tasks that publish the branch they begin with build on each other",
  async (ref) => {
    const branch = ref ?? "main";
    const write = (name: string) => call("Write", { path: name, content: "new\n" });
    const list = call("Bash", { command: "ls", description: "List" });
    await using task = await published([
      write("b.txt"),
      say("Done."),
      write("c.txt"),
      say("Done."),
      list,
      say("Done."),
    ]);
    const { place, repo, server, store } = task;
    git(place, repo, "branch", "koda/a", "main");
    const own = { repo, publish: { branch }, ...(ref !== undefined && { ref }) };
    const last = { repo, ref: branch, after: ["b"] };
    const tasks = [
      { key: "a", ...own },
      { key: "b", ...own },
      { key: "c", ...last },
    ];
    const batch = await submit(
      store,
      tasks.map((each) => taskOf(server, each)),
    );
    await workAt(place, store, { batch });
    expect(git(place, repo, "ls-tree", "--name-only", branch)).toBe("a.txt\nb.txt\nc.txt\n");
    expect(server.requests.at(-1)?.lines.at(-1)?.text).toContain("a.txt\nb.txt\nc.txt");
  },
);

test.each([[true], [false]])(
  "a push is done again after its worker ended, unless others have pushed: %p",
  async (others) => {
    const stop = new AbortController();
    const publishCommand = `test -e "$HOME/again" || { touch "$HOME/again"; sleep 60; }`;
    const script = (_: unknown, index: number) => change[index] ?? say("Done.");
    await using task = await published(script, { publish: { branch: "main" } });
    const { place, repo, store, batch } = task;
    const first = workAt(place, store, { batch, publishCommand, signal: stop.signal });
    await until(() => existsSync(join(place.home, "again")));
    stop.abort();
    await first;
    if (others)
      git(
        place,
        repo,
        "update-ref",
        "refs/heads/main",
        git(place, repo, "commit-tree", "main^{tree}", "-p", "main", "-m", "Theirs").trim(),
      );
    await workAt(place, store, { batch, publishCommand });
    expect((await resultsOf(store, batch)).a?.state).toBe(others ? "failed" : "done");
    expect(git(place, repo, "log", "--format=%s", "main")).toBe(others ? "Theirs\nFix it\nfirst\n" : "Fix it\nfirst\n");
  },
);

test("a task whose publish command fails has failed, and its work is not done again", async () => {
  await using task = await published((_, index) => change[index % 2], {}, { publishCommand: "echo no >&2; exit 3" });
  await task.work();
  const { a } = await resultsOf(task.store, task.batch);
  expect(a).toMatchObject({ state: "failed", hasPatch: true, attempts: [{ exit: 3, error: { code: "publish" } }] });
  expect(a?.attempts[0]?.error?.message).toBe("The publish command failed with exit code 3: no");
});

test("what a publish command says when it fails is stored without secrets", async () => {
  const secrets = { DEPLOY_TOKEN: "deploy-token-1", KODA_STORE: "postgres://koda:open%20sesame@db.example.com/koda" };
  const publishCommand = 'echo "$DEPLOY_TOKEN $KODA_STORE open sesame" >&2; exit 3';
  await using task = await published((_, index) => change[index % 2], {}, { publishCommand, env: secrets });
  const { events } = await task.work();
  const { a } = await resultsOf(task.store, task.batch);
  const message = "The publish command failed with exit code 3: [key] postgres://koda:[key]@db.example.com/koda [key]";
  expect(a?.attempts.map(({ error }) => error?.message)).toEqual([message]);
  expect(JSON.stringify(events)).not.toMatch(/deploy-token-1|sesame/);
});

test("changes with the value of a secret variable are not pushed", async () => {
  const secret = [call("Write", { path: "new.txt", content: "deploy-token-1\n" }), say("Done.")];
  await using task = await published(secret, {}, { env: { DEPLOY_TOKEN: "deploy-token-1" } });
  await task.work();
  const { a } = await resultsOf(task.store, task.batch);
  expect(a).toMatchObject({ state: "failed", hasPatch: true, attempts: [{ error: { code: "publish" } }] });
  expect(a?.attempts[0]?.error?.message).toContain("the value of a secret variable");
  expect(git(task.place, task.repo, "branch", "--list", "koda/a")).toBe("");
});

test("no hook runs, neither of the work tree nor of the user's own git", async () => {
  await using task = await published(
    [
      call("Bash", {
        command: "git config core.hooksPath hooks; mkdir hooks; cp /bin/true hooks/pre-push; echo x > x",
      }),
      say("Done."),
    ],
    { args: ["--allow-git"] },
  );
  const { place } = task;
  const hooks = join(place.home, "hooks");
  for (const name of ["pre-push", "post-checkout", "post-index-change", "pre-commit", "pre-applypatch"]) {
    const hook = join(hooks, name);
    await Bun.write(hook, `#!/bin/sh\necho ${name} >> ${place.home}/ran\n`);
    chmodSync(hook, 0o755);
  }
  writeFileSync(
    join(place.home, ".gitconfig"),
    `[core]\n\thooksPath = ${hooks}\n[user]\n\tname = Ada\n\temail = a@b.c\n`,
  );
  const { events } = await task.work();
  const end = events.find((event) => event.type === "task.end");
  expect(end?.published?.branch, JSON.stringify(events)).toBe("koda/a");
  expect(existsSync(join(place.home, "ran")) ? readFileSync(join(place.home, "ran"), "utf8") : "").toBe("");
  expect(git(place, task.repo, "log", "-1", "--format=%an %ae", "koda/a")).toBe("Ada a@b.c\n");
});

test("a server that says that its disk is full fails the task, and stops no worker", async () => {
  await using task = await published((_, index) => change[index % 2]);
  const hook = join(task.repo, "hooks/pre-receive");
  writeFileSync(hook, "#!/bin/sh\necho 'fatal: write error: No space left on device' >&2; exit 1\n");
  chmodSync(hook, 0o755);
  expect((await task.work()).end.exit).toBe(0);
  const { state, attempts } = (await resultsOf(task.store, task.batch)).a ?? {};
  expect([state, attempts?.map(({ error }) => error?.code)]).toEqual(["failed", ["publish"]]);
  expect(attempts?.[0]?.error?.message).toContain("No space left on device");
});
