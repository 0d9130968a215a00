import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { FleetEvent } from "../../lib/fleet/events.ts";
import { HeldDirectory } from "../../lib/files/held.ts";
import { removeDirectory } from "../../lib/fleet/work/remove.ts";
import { batches, git, makeRepository, openStoreOf, resultsOf, submit, taskOf } from "../support/fleetplace.ts";
import { workAt } from "../support/machine.ts";
import { call, say, wait } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";

/** Runs one command in a clone of a repository; returns the patch, and the tree, which is kept. */
async function changed(
  files: Record<string, string>,
  command: string,
  {
    prepare = () => {},
    args = [],
  }: { prepare?: (git: (...args: string[]) => string, repo: string) => void; args?: string[] } = {},
) {
  const place = makePlace();
  const repo = makeRepository(place, files);
  prepare((...words) => git(place, repo, ...words), repo);
  await using server = await startModelServer([call("Bash", { command, description: "Change it" }), say("Done.")]);
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a", repo, args })]);
  const { end } = await workAt(place, store, { batch, keepTrees: true });
  expect(end.exit).toBe(0);
  expect((await resultsOf(store, batch)).a?.state).toBe("done");
  const patch = new TextDecoder().decode(await store.patch(batch, "a"));
  const names = [...patch.matchAll(/^diff --git a\/(.*) b\//gm)].map(([, name]) => name);
  const shown = server.requests[1]?.lines.at(-1)?.text ?? "";
  return {
    place,
    repo,
    patch,
    names,
    shown,
    tree: join(batches(place), batch, "a"),
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  };
}

test("a patch has new, changed, removed, binary and executable files and links, and nothing that is ignored", async () => {
  const command = `echo 2 >> b.txt; rm c.txt; printf 'a\\0b' > d.bin; chmod +x e.sh; ln -s b.txt f; echo i > i.log
    mkdir -p deep/er; echo g > "deep/er/with space"`;
  await using run = await changed({ "b.txt": "1\n", "c.txt": "c\n", "e.sh": "e\n", ".gitignore": "*.log\n" }, command);
  expect(run.names).toEqual(["b.txt", "c.txt", "d.bin", "deep/er/with space", "e.sh", "f"]);
  const copy = makeRepository(run.place, { "b.txt": "1\n", "c.txt": "c\n", "e.sh": "e\n" }, "copy");
  await Bun.write(join(run.place.project, "a.patch"), run.patch);
  git(run.place, copy, "apply", join(run.place.project, "a.patch"));
  expect(
    readdirSync(copy)
      .filter((name) => name !== ".git")
      .toSorted(),
  ).toEqual(["b.txt", "d.bin", "deep", "e.sh", "f"]);
  expect(readFileSync(join(copy, "d.bin"), "latin1")).toBe("a\0b");
  expect(statSync(join(copy, "e.sh")).mode & 0o111).toBe(0o111);
});

test("a task works in a clone of a checkout as CI makes it: shallow, and without a branch", async () => {
  const prepare = (git: (...args: string[]) => string, repo: string) => {
    git("commit", "--quiet", "--allow-empty", "--message=second");
    writeFileSync(join(repo, ".git/shallow"), git("rev-parse", "HEAD"));
    git("checkout", "--quiet", "--detach");
    git("branch", "--quiet", "--delete", "--force", "main");
  };
  await using run = await changed({ "a.txt": "a\n" }, "git log --format=%s; echo b > b.txt", { prepare });
  expect(run.shown).toMatch(/\bsecond\b/);
  expect(run.shown).not.toMatch(/\bfirst\b/);
  expect(run.names).toEqual(["b.txt"]);
});

test("a task can look at the history, and what it commits is in the patch all the same", async () => {
  const command =
    "git log --format=%s origin/main; git branch -a; git status --short; echo n > n; git add n; git commit -qm n; git log --format=%s -1";
  const prepare = (git: (...args: string[]) => string) => void git("branch", "other");
  await using run = await changed(
    { "a.txt": "a\n" },
    `git config user.name x; git config user.email x@y.z; ${command}`,
    { prepare, args: ["--allow-git"] },
  );
  expect(run.shown).toContain("first\n* main\n  remotes/origin/main\n  remotes/origin/other\n");
  expect(run.names).toEqual(["n"]);
});

test("submodules stay as they are, and repositories that a task makes do no harm", async () => {
  const prepare = (git: (...args: string[]) => string) => {
    const commit = git("rev-parse", "HEAD").trim();
    git("update-index", "--add", "--cacheinfo", `160000,${commit},sub`);
    git("commit", "--quiet", "--message=submodule");
  };
  await using run = await changed(
    { "a.txt": "a\n" },
    "mkdir nested && cd nested && git init -q && echo x > x; echo b > ../b",
    { prepare },
  );
  expect(run.names).toContain("b");
  expect(run.names).not.toContain("sub");
});

test("filters and settings of a repository run nothing", async () => {
  const prepare = (git: (...args: string[]) => string, repo: string) => {
    const ran = join(repo, "..", "ran");
    for (const kind of ["clean", "smudge", "process"]) git("config", `filter.bad.${kind}`, `touch ${ran}`);
    git("config", "core.fsmonitor", `touch ${ran}`);
  };
  await using run = await changed(
    { "a.txt": "a\n", ".gitattributes": "*.txt filter=bad diff=bad\n" },
    "echo b >> a.txt",
    { prepare },
  );
  expect(run.names).toEqual(["a.txt"]);
  expect(existsSync(join(run.repo, "..", "ran"))).toBe(false);
});

test("read-only directories that a task leaves are removed", async () => {
  await using place = makePlace();
  await using server = await startModelServer([
    call("Bash", { command: "mkdir -p a/b; touch a/b/c; chmod 555 a/b a", description: "Make a cache" }),
    say("Done."),
  ]);
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a" })]);
  await workAt(place, store, { batch });
  expect(existsSync(join(batches(place), batch, "a"))).toBe(false);
});

test("a task may have the name of anything that koda keeps beside the trees", async () => {
  await using place = makePlace();
  const repo = makeRepository(place, { "a.txt": "a\n" });
  const others = ["first", "mirrors", "shadow", "record.json"];
  const [begun, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await using server = await startModelServer(({ raw, lines }) => {
    if (raw.includes("Do first")) return [wait(begun.promise), say("Done.")];
    if (!raw.includes("Do a") || lines.at(-1)?.role !== "user") return say("Done.");
    begun.resolve();
    return [wait(over.promise), call("Write", { path: "b.txt", content: "b\n" })];
  });
  await using store = openStoreOf(place);
  const tasks = [taskOf(server, { key: "a", repo }), ...others.map((key) => taskOf(server, { key }))];
  const batch = await submit(store, tasks);
  let ended = 0;
  const onEvent = ({ type }: FleetEvent) => {
    if (type === "task.end" && ++ended === others.length) over.resolve();
  };
  await workAt(place, store, { batch, jobs: 2, onEvent });
  const states = Object.entries(await resultsOf(store, batch)).map(([key, { state }]) => `${key} ${state}`);
  expect(states).toEqual(["a", ...others].map((key) => `${key} done`));
  expect((await resultsOf(store, batch)).a?.hasPatch).toBe(true);
});

test("a directory of any depth is removed, without what its links lead to", async () => {
  await using place = makePlace({ "kept/a.txt": "a\n" });
  const top = join(place.project, "deep");
  mkdirSync(top);
  let held = HeldDirectory.open(top);
  for (let level = 0; level < 2000; level++) {
    using above = held;
    held = above.child("d".repeat(100), { create: true });
    if (level % 1000 === 0) symlinkSync(join(place.project, "kept"), held.at("link"));
    above.chmod(0o100);
  }
  held[Symbol.dispose]();
  await removeDirectory(top);
  expect(readdirSync(place.project)).toEqual(["kept"]);
  expect(readdirSync(join(place.project, "kept"))).toEqual(["a.txt"]);
});
