import { expect, test } from "bun:test";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { FleetEvent } from "../../lib/fleet/events.ts";
import { batches, git, makeRepository, openStoreOf, resultsOf, submit, taskOf } from "../support/fleetplace.ts";
import { workAt } from "../support/machine.ts";
import { call, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";

test("the settings of a repository that a task makes in a submodule run nothing outside of the sandbox", async () => {
  await using place = makePlace();
  const repo = makeRepository(place, { "a.txt": "a\n" });
  const commit = git(place, repo, "rev-parse", "HEAD").trim();
  for (const name of ["sub", "gone"])
    git(place, repo, "update-index", "--add", "--cacheinfo", `160000,${commit},${name}`);
  // Not UTF-8, as a name in a repository may be.
  const odd = Buffer.concat([Buffer.from(`160000 ${commit}\tsub`), Buffer.from([0xff, 0])]);
  Bun.spawnSync(["git", "update-index", "-z", "--index-info"], { cwd: repo, env: place.env, stdin: odd });
  git(place, repo, "commit", "--quiet", "--message=submodules");
  const ran = join(place.home, "ran");
  const command = `rm -r gone; echo b > b; for sub in sub "$(printf 'sub\\377')"; do (
    cd "$sub" && git init -q && echo x > x && echo '* filter=bad' > .gitattributes && git add x &&
    git -c user.name=x -c user.email=x@y.z commit -qm x && git config filter.bad.clean "touch '${ran}'; cat" &&
    touch -d 2001-01-01 x && echo made); done`;
  const wait = `until [ -e sub/ready ]; do sleep 0.02; done`;
  await using server = await startModelServer([
    call("Bash", { command: `${command}; touch sub/ready; sleep 30`, background: true, description: "Set a trap" }),
    call("Bash", { command: wait, description: "Wait" }),
    call("Glob", { pattern: "*" }),
    call("Bash", { command: "sleep 1", description: "Wait" }),
    say("Done."),
  ]);
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a", repo })]);
  await workAt(place, store, { batch, checkpointMs: 0 });
  expect((await resultsOf(store, batch)).a?.state).toBe("done");
  expect(existsSync(ran)).toBe(false);
  const patch = new TextDecoder().decode(await store.patch(batch, "a"));
  expect([...patch.matchAll(/^diff --git a\/(.*) b\//gm)].map(([, name]) => name)).toEqual(["b", "gone"]);
});

test.each([
  [".git", "link"],
  ["a/../.git/objects", "link"],
  [".git", "link/refs"],
  ["/tmp", "link"],
])("a link of the repository to %s, with the directory %s, is no place to work in", async (target, dir) => {
  await using place = makePlace();
  const repo = makeRepository(place, { "a/b": "b\n" });
  symlinkSync(target, join(repo, "link"));
  git(place, repo, "add", "link");
  git(place, repo, "commit", "--quiet", "--message=link");
  await using server = await startModelServer([]);
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a", repo, dir })]);
  await workAt(place, store, { batch });
  expect(server.requests).toHaveLength(0);
  const { state, attempts } = (await resultsOf(store, batch))["a"] ?? {};
  expect(state).toBe("failed");
  expect(attempts?.[0]?.error?.message).toContain(`Cannot work in "${dir}" of the repository: a symbolic link leads`);
});

test.each([
  ["main~1", "one\n"],
  ["HEAD^", "one\n"],
  ["main", "two\n"],
  ["HEAD, where there is no branch", "two\n"],
])("a task may begin at %s", async (words, text) => {
  await using place = makePlace();
  const repo = makeRepository(place, { "a.txt": "one\n" });
  await Bun.write(join(repo, "a.txt"), "two\n");
  git(place, repo, "commit", "--all", "--quiet", "--message=second");
  const [ref = "", ...rest] = words.split(", ");
  if (rest.length > 0) git(place, repo, "update-ref", "--no-deref", "HEAD", "HEAD");
  if (rest.length > 0) git(place, repo, "branch", "--delete", "--force", "--quiet", "main");
  await using server = await startModelServer([call("Read", { path: "a.txt" }), say("Done.")]);
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a", repo, ref })]);
  await workAt(place, store, { batch });
  const { state, attempts } = (await resultsOf(store, batch))["a"] ?? {};
  expect([state, attempts?.[0]?.error]).toEqual(["done", undefined]);
  expect(server.requests[1]?.lines.at(-1)?.text).toContain(text.trim());
});

test("changes that no store could take fail the task, and only that", async () => {
  await using place = makePlace();
  const command = "yes $(printf %01000d 0) | head -c 70M > big";
  await using server = await startModelServer(({ raw, lines }) =>
    raw.includes("Do a") && lines.at(-1)?.role === "user"
      ? call("Bash", { command, description: "Download" })
      : say("Done."),
  );
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a" }), taskOf(server, { key: "b" })]);
  const { end } = await workAt(place, store, { batch });
  const { a, b } = await resultsOf(store, batch);
  expect([end.exit, a?.state, b?.state]).toEqual([0, "failed", "done"]);
  expect(a?.attempts.map(({ exit, error }) => [exit, error?.code])).toEqual([[3, "patch"]]);
  expect(a?.attempts[0]?.error?.message).toContain("larger than the limit of 64 MiB");
  expect([a?.hasPatch, a?.result?.["status"]]).toEqual([false, "done"]);
});

// Most of these wait until koda ends a git that sleeps.
test.concurrent.each([
  [
    "a text in another encoding than it says",
    "echo '* working-tree-encoding=UTF-16' > .gitattributes",
    /BOM is required/,
  ],
  ["a named pipe", "mkfifo .gitignore", /named pipe/],
])("%s that a task leaves fails it with a reason, and is not tried again", async (_, command, reason) => {
  await using place = makePlace();
  const repo = makeRepository(place, { "a.txt": "a\n" });
  await using server = await startModelServer([
    call("Bash", { command: `${command}; touch a.txt`, description: "Set a trap" }),
    say("Done."),
  ]);
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a", repo })]);
  expect((await workAt(place, store, { batch })).end.exit).toBe(0);
  const { state, attempts } = (await resultsOf(store, batch))["a"] ?? {};
  expect([state, attempts?.length, attempts?.[0]?.error?.code]).toEqual(["failed", 1, "patch"]);
  expect(attempts?.[0]?.error?.message).toMatch(reason);
});

test.concurrent("a checkpoint that git was killed in does not keep the task from being done", async () => {
  await using place = makePlace();
  const repo = makeRepository(place, { "a.txt": "a\n" });
  const bash = (command: string) => call("Bash", { command, description: "Work" });
  const noted: string[] = [];
  let isOver = false;
  await using server = await startModelServer((_, index) => {
    if (index === 0) return bash("mkfifo .gitignore");
    // A checkpoint follows a reply.
    if (noted.length === 0) return bash(`sleep 0.2; echo ${index}`);
    if (isOver) return say("Done.");
    isOver = true;
    return bash("rm .gitignore; echo b > a.txt");
  });
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a", repo })]);
  const onEvent = (event: FleetEvent) => event.type === "task.note" && noted.push(event.message);
  await workAt(place, store, { batch, checkpointMs: 0, onEvent });
  expect(noted[0]).toContain("named pipe");
  expect((await resultsOf(store, batch)).a).toMatchObject({ state: "done", hasPatch: true });
});

test.concurrent.each([
  ["no space is left on a device", "No space left on device"],
  ["a signal has ended git", "failed with exit code 143"],
])("a file whose name says that %s fails its task, and stops no worker", async (_, name) => {
  await using place = makePlace();
  const repo = makeRepository(place, { "a.txt": "a\n" });
  const command = `echo x > '${name}' && echo '"${name}" working-tree-encoding=UTF-16' > .gitattributes`;
  await using server = await startModelServer([call("Bash", { command, description: "Set a trap" }), say("Done.")]);
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a", repo })]);
  expect((await workAt(place, store, { batch })).end.exit).toBe(0);
  const { state, attempts } = (await resultsOf(store, batch))["a"] ?? {};
  expect([state, attempts?.length, attempts?.[0]?.error?.code]).toEqual(["failed", 1, "patch"]);
  expect(attempts?.[0]?.error?.message).toContain(name);
});

test.concurrent(
  "a repository that hides what every program needs fails its own task, and stops no worker",
  async () => {
    await using place = makePlace();
    const bad = makeRepository(place, { ".koda/config.json": '{"sandbox":{"hide":["/usr","/bin"]}}' }, "bad");
    await using server = await startModelServer(() => say("Done."));
    await using store = openStoreOf(place);
    const batch = await submit(store, [taskOf(server, { key: "a", repo: bad }), taskOf(server, { key: "b" })]);
    expect((await workAt(place, store, { batch })).end.exit).toBe(0);
    const { a, b } = await resultsOf(store, batch);
    expect([a?.state, b?.state]).toEqual(["poison", "done"]);
    expect(a?.attempts.map(({ exit, error }) => [exit, error?.code])).toEqual([1, 2].map(() => [7, "sandbox"]));
  },
);

test.concurrent(
  "a directory of the machine that a task makes unreadable for git fails the task, and stops no worker",
  async () => {
    await using place = makePlace({ "a.txt": "a\n" });
    git(place, place.project, "init", "--quiet");
    const command = "mkfifo .gitignore && echo b > a.txt";
    await using server = await startModelServer([call("Bash", { command, description: "Set a trap" }), say("Done.")]);
    await using store = openStoreOf(place);
    const batch = await submit(store, [taskOf(server, { key: "a", dir: place.project })]);
    expect((await workAt(place, store, { batch })).end.exit).toBe(0);
    const { state, attempts } = (await resultsOf(store, batch))["a"] ?? {};
    expect([state, attempts?.length, attempts?.[0]?.exit]).toEqual(["failed", 1, 3]);
    expect(attempts?.[0]?.error).toMatchObject({ code: "patch", message: expect.stringContaining("named pipe") });
  },
);

test.each([
  ["", "all"],
  ["lib", "a,b"],
])("the commands of a task in directory '%s' below '%s' see the tree of no other task", async (dir, name) => {
  // Commands have a /tmp of their own.
  await using outer = makePlace({ [`${name}/x`]: "" }, "/var/tmp");
  await using place = makePlace({}, join(outer.project, name));
  const repo = makeRepository(place, { "a.txt": "a\n", "lib/b.txt": "b\n" });
  const look = "cd $(git rev-parse --show-toplevel) && ls -A .. && cat a.txt ../other/a.txt ../.koda/a/record.json";
  await using server = await startModelServer([call("Bash", { command: look, description: "Look" }), say("Done.")]);
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a", repo, ...(dir !== "" && { dir }) })]);
  mkdirSync(join(batches(place), batch, "other"), { recursive: true });
  writeFileSync(join(batches(place), batch, "other/a.txt"), "of another\n");
  await workAt(place, store, { batch });
  expect((await resultsOf(store, batch)).a?.state).toBe("done");
  expect(server.requests[1]?.lines.at(-1)?.text).toMatch(/^stdout:\na\na$/m);
});

test("what a trusted repository lets its task do in .git is not in the next clone", async () => {
  await using place = makePlace();
  const repo = makeRepository(place, { "a.txt": "a\n", ".koda/config.json": '{"sandbox":{"allow_git":true}}' });
  const command = "for f in $(find .git/objects -type f); do chmod u+w $f && echo x > $f && echo changed; done";
  await using server = await startModelServer(({ lines }) =>
    lines.at(-1)?.role === "user" ? call("Bash", { command, description: "Change objects" }) : say("Done."),
  );
  await using store = openStoreOf(place);
  const tasks = ["a", "b"].map((key) => taskOf(server, { key, repo, args: ["--trust-project"] }));
  const batch = await submit(store, tasks);
  await workAt(place, store, { batch });
  expect(server.requests[1]?.lines.at(-1)?.text).toContain("changed");
  const { a, b } = await resultsOf(store, batch);
  expect([a?.state, b?.state], JSON.stringify(b?.attempts[0]?.error)).toEqual(["done", "done"]);
});

test("a task that changes nothing has no patch", async () => {
  await using place = makePlace({ "a.txt": "a\n" });
  const repo = makeRepository(place, { "a.txt": "a\n" });
  await using server = await startModelServer(() => say("Done."));
  await using store = openStoreOf(place);
  const tasks = [{ key: "clone", repo }, { key: "empty" }, { key: "own", dir: place.project }];
  const batch = await submit(
    store,
    tasks.map((task) => taskOf(server, task)),
  );
  await workAt(place, store, { batch });
  const results = Object.values(await resultsOf(store, batch));
  expect(results.map(({ state, hasPatch }) => [state, hasPatch])).toEqual(tasks.map(() => ["done", false]));
});

/** git needs more steps for this pattern and path than there is time. */
const endless = { path: `${"a/".repeat(60)}b`, attributes: `${"**/a/".repeat(25)}c text\n` };

test("a repository whose attributes keep git busy for ever is an error of the task", async () => {
  await using place = makePlace();
  const repo = makeRepository(place, { "a.txt": "a\n" });
  const { path, attributes } = endless;
  const files = Object.entries({ [path]: "b\n", ".gitattributes": attributes });
  const lines = files.map(([name, text]) => `M 100644 inline ${name}\ndata ${text.length}\n${text}\n`).join("");
  const commit = `commit refs/heads/bad\ncommitter A <a@b.c> 0 +0000\ndata 1\nx\n${lines}`;
  Bun.spawnSync(["git", "fast-import", "--quiet"], { cwd: repo, env: place.env, stdin: Buffer.from(commit) });
  await using server = await startModelServer([]);
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a", repo, ref: "bad" })]);
  expect((await workAt(place, store, { batch, gitLimitMs: 500 })).end.exit).toBe(0);
  const { state, attempts } = (await resultsOf(store, batch))["a"] ?? {};
  expect([state, attempts?.map(({ error }) => error?.code)]).toEqual(["poison", ["repository", "repository"]]);
  expect(attempts?.[0]?.error?.message).toBe(`Cannot check out "${repo}": git did not finish within 500 ms`);
});

test("a task that leaves attributes which keep git busy for ever has failed", async () => {
  await using place = makePlace();
  const repo = makeRepository(place, { "a.txt": "a\n" });
  const { path, attributes } = endless;
  const command = `mkdir -p ${dirname(path)} && echo b > ${path} && echo '${attributes.trim()}' > .gitattributes`;
  await using server = await startModelServer([call("Bash", { command, description: "Set a trap" }), say("Done.")]);
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a", repo })]);
  expect((await workAt(place, store, { batch, gitLimitMs: 1000 })).end.exit).toBe(0);
  const { state, attempts } = (await resultsOf(store, batch))["a"] ?? {};
  expect([state, attempts?.map(({ error }) => error?.code)]).toEqual(["failed", ["patch"]]);
  expect(attempts?.[0]?.error?.message).toBe("Cannot read the changes: git did not finish within 1.0 s");
});

test("a repository that git refuses to check out is an error of the task, with what git says", async () => {
  await using place = makePlace();
  const repo = makeRepository(place, { "a.txt": "a\n" });
  const made = (input: string, ...args: string[]) =>
    Bun.spawnSync(["git", ...args], { cwd: repo, env: place.env, stdin: Buffer.from(input) })
      .stdout.toString()
      .trim();
  const blob = git(place, repo, "rev-parse", "HEAD:a.txt").trim();
  const tree = made(`040000 tree ${made(`100644 blob ${blob}\tconfig\n`, "mktree")}\t.git\n`, "mktree");
  git(place, repo, "branch", "bad", git(place, repo, "commit-tree", "-m", "bad", tree).trim());
  await using server = await startModelServer([]);
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a", repo, ref: "bad" })]);
  expect((await workAt(place, store, { batch })).end.exit).toBe(0);
  const { state, attempts } = (await resultsOf(store, batch))["a"] ?? {};
  expect([state, attempts?.at(-1)?.exit]).toEqual(["poison", 1]);
  expect(attempts?.at(-1)?.error).toEqual({
    code: "repository",
    message: `Cannot check out "${repo}": git read-tree failed with exit code 128: error: invalid path '.git/config'`,
  });
});
