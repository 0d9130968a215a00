import { describe, expect, test } from "bun:test";
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { join, relative } from "node:path";
import { describeFinding, levelOf, type RepositoryFinding } from "../../../lib/trust/repositories/finding.ts";
import { NewRepositories } from "../../../lib/trust/repositories/newrepositories.ts";
import { ProtectedPaths } from "../../../lib/trust/repositories/protected.ts";
import { moveToQuarantine } from "../../../lib/trust/repositories/quarantine.ts";
import { identityAt } from "../../../lib/trust/repositories/identity.ts";
import { makePlace } from "../../support/place.ts";
import { runGit } from "../../support/worktree.ts";
import { bareFiles, directory, live, writeFiles, type Files } from "./repository.ts";

/** A project as it is before the first command, and what is found after each. */
async function begin(files: Files = {}, { open }: { open?: string } = {}) {
  const place = makePlace();
  const { project } = place;
  writeFiles(project, files);
  const paths = await ProtectedPaths.find([project], live);
  const quarantine = join(place.home, "data/quarantine");
  const newcomers = new NewRepositories(paths, {
    quarantine,
    ...(open !== undefined && { open: join(project, open) }),
  });
  const findings: RepositoryFinding[] = [];
  return {
    ...place,
    quarantine,
    at: (path: string) => join(project, path),
    write: (more: Files) => writeFiles(project, more),
    there: (path: string) => existsSync(join(project, path)),
    findings,
    async look() {
      const found = await newcomers.look(live);
      findings.push(...found);
      return found.map((finding) => `${finding.kind} ${relative(project, finding.path) || "."}`).sort();
    },
  };
}

const pager = "[core]\n\tpager = evil\n";
const under = (path: string, files: Files) =>
  Object.fromEntries(
    Object.entries(files).map(([name, content]): [string, Files[string]] => [`${path}/${name}`, content]),
  );

/** Paths as they are in a project without a /tmp of its own. */
const named = (root: string) => ({ root, tmp: "/nowhere", privateTmp: false });

describe("a repository that appears", () => {
  test("is named once when it does no harm, and stays", async () => {
    await using run = await begin({ ".git/HEAD": "" });
    runGit(run.project, run.env, ["init", "-q", "sub"]);
    expect(await run.look()).toEqual(["new sub/.git"]);
    expect(await run.look()).toEqual([]);
    expect(run.there("sub/.git/HEAD")).toBe(true);
    expect(run.findings.map(levelOf)).toEqual(["info"]);
  });

  test("is quarantined when it is dangerous, with all that is in it", async () => {
    await using run = await begin({ ".git/HEAD": "" });
    run.write({ "sub/.git/HEAD": "h", "sub/.git/config": pager, "sub/a": "mine" });
    expect(await run.look()).toEqual(["quarantined sub/.git"]);
    expect(await run.look()).toEqual([]);
    expect([run.there("sub/.git"), run.there("sub/a"), run.there(".git/HEAD")]).toEqual([false, true, true]);
    const [finding] = run.findings;
    if (finding?.kind !== "quarantined") throw new Error("it was quarantined");
    expect(finding.movedTo).toStartWith(run.quarantine);
    expect(readFileSync(join(finding.movedTo, "config"), "utf8")).toBe(pager);
    expect(describeFinding(finding, named(run.project))).toBe(
      `Quarantined "sub/.git", made by a command: its config sets core.pager, which is not known to be harmless. It is now in "${finding.movedTo}".`,
    );
  });

  test("is judged again after each command", async () => {
    await using run = await begin();
    run.write({ "sub/.git/HEAD": "", "sub/.git/config": "[core]\n" });
    expect(await run.look()).toEqual(["new sub/.git"]);
    run.write({ "sub/.git/config": pager });
    expect(await run.look()).toEqual(["quarantined sub/.git"]);
    run.write({ "sub/.git/config": pager });
    expect(await run.look()).toEqual(["quarantined sub/.git"]);
  });

  test("may be the root's own", async () => {
    await using run = await begin({ a: "" });
    run.write({ ".git/hooks/pre-commit": { program: "" } });
    expect(await run.look()).toEqual(["quarantined .git"]);
  });

  const forms: [title: string, files: Files, expected: string[]][] = [
    [
      "a file that leads to a dangerous one",
      { "s/.git": "gitdir: ../gd\n", "gd/HEAD": "", "gd/config": pager },
      ["quarantined s/.git"],
    ],
    ["a symlink that does", { "s/.git": { link: "../gd" }, "gd/HEAD": "", "gd/config": pager }, ["quarantined s/.git"]],
    ["a symlink outside", { "s/.git": { link: "/etc" } }, ["quarantined s/.git"]],
    ["a bare one", under("b", { ...bareFiles, config: pager }), ["quarantined b"]],
    [
      "a bare one, and what leads to it",
      { ...under("b", { ...bareFiles, config: pager }), "s/.git": "gitdir: ../b\n" },
      ["quarantined b", "quarantined s/.git"],
    ],
    ["a bare one, harmless", under("b", bareFiles), ["new b"]],
    ["in capitals", { "s/.GIT/config": pager }, ["quarantined s/.GIT"]],
    ["one in another", { ...under("b", { ...bareFiles, config: pager }), "b/x/.git/config": pager }, ["quarantined b"]],
    ["settings of koda", { ".koda/config.json": "{}" }, ["quarantined .koda"]],
    ["settings of koda, elsewhere", { ".koda": { link: "src" }, "src/a": "" }, ["quarantined .koda"]],
    ["settings of koda in a file", { "src/.koda": "" }, ["quarantined src/.koda"]],
    ["what is nearly one", { "b/HEAD": "", "b/config": pager, "c/.gitignore": "" }, []],
  ];

  test.each(forms)("%s", async (_, files, expected) => {
    await using run = await begin({ "src/mine": "mine" });
    run.write(files);
    const found = await run.look();
    expect(found.filter((text) => !expected.includes(text))).toEqual(found.filter((text) => /b\/x|gd/.test(text)));
    for (const text of expected) expect(found).toContain(text);
    expect(run.there("src/mine")).toBe(true);
  });

  test("beside a work tree of the project's own repository is trusted as far as that is", async () => {
    await using run = await begin({ ".git/HEAD": "", ".git/config": pager });
    run.write({ "sub/.git": "gitdir: ../.git\n" });
    expect(await run.look()).toEqual(["new sub/.git"]);
  });

  test("around files of the user's loses only what makes it one", async () => {
    await using run = await begin({ "src/mine": "mine", top: "mine" });
    run.write({ ...under("src", { ...bareFiles, config: pager }), ...under(".", { ...bareFiles, config: pager }) });
    expect(await run.look()).toEqual(["quarantined HEAD", "quarantined src/HEAD"]);
    expect([run.there("src/mine"), run.there("top"), run.there("HEAD")]).toEqual([true, true, false]);
    expect(await run.look()).toEqual([]);
  });

  test("where the project's own one leads to is quarantined", async () => {
    await using run = await begin({ ".git": { link: "place/gd" }, "place/gd/HEAD": "" });
    renameSync(run.at("place"), run.at("place.before"));
    run.write({ "place/gd/config": pager });
    expect(await run.look()).toEqual(["quarantined place/gd"]);
  });

  test("in a directory whose name is not UTF-8 is judged under another name", async () => {
    await using run = await begin({ x: "" });
    const odd = (last: number) => Buffer.concat([Buffer.from(`${run.project}/`), Buffer.from([last])]);
    run.write({ "evil/deep/.git/config": pager, "plain/a": "", "\ufffd/mine": "" });
    renameSync(run.at("evil"), odd(0xff));
    renameSync(run.at("plain"), odd(0xfe));
    const [renamed = "", quarantined = "", ...others] = (await run.look()).sort().reverse();
    expect([renamed, others]).toEqual(["quarantined \ufffd", []]);
    expect(quarantined).toMatch(/^quarantined not-utf-8-\w+\/deep\/\.git$/);
    expect(await run.look()).toEqual([]);
    expect([existsSync(odd(0xff)), existsSync(odd(0xfe)), run.there("\ufffd/mine")]).toEqual([false, true, true]);
  });

  test("in a directory whose name is not UTF-8, and was there before, stays", async () => {
    await using run = await begin();
    await using other = makePlace({ "x/.git/config": pager });
    const odd = Buffer.concat([Buffer.from(`${other.project}/`), Buffer.from([0xff])]);
    renameSync(join(other.project, "x"), odd);
    const paths = await ProtectedPaths.find([other.project], live);
    expect(await new NewRepositories(paths, { quarantine: run.quarantine }).look(live)).toEqual([]);
    expect(existsSync(odd)).toBe(true);
  });

  test("after more than can be judged is quarantined unseen", async () => {
    await using run = await begin();
    const names = Array.from({ length: 2_001 }, (_, number) => `r${number}/.git`);
    for (const name of names) mkdirSync(run.at(name), { recursive: true });
    const found = await run.look();
    expect(found.filter((text) => text.startsWith("quarantined"))).toHaveLength(1);
    expect(run.findings.find(({ kind }) => kind === "quarantined")).toMatchObject({
      reason: expect.stringContaining("more than 2000"),
    });
  }, 30_000);

  test("by a hard link to a symlink that was there is judged where it is", async () => {
    await using run = await begin({
      "gd/HEAD": "",
      "gd/config": pager,
      "s/.git": { link: "../gd" },
      "t/gd/config": pager,
    });
    mkdirSync(run.at("t/x"));
    linkSync(run.at("s/.git"), run.at("t/x/.git"));
    expect(await run.look()).toEqual(["quarantined t/gd", "quarantined t/x/.git"]);
    expect(run.there("s/.git")).toBe(true);
  });

  test("in the time of a killed run is judged by the next", async () => {
    await using run = await begin({ "mine/.git/config": pager });
    const before = await ProtectedPaths.find([run.project], live);
    const known = new Set(before.known.map(({ identity }) => identity));
    run.write({ "evil/.git/config": pager });
    const paths = await ProtectedPaths.find([run.project], live, { isKnown: ({ identity }) => known.has(identity) });
    expect(paths.paths).toEqual([run.at("mine/.git")]);
    const found = await new NewRepositories(paths, { quarantine: run.quarantine }).look(live);
    expect(found.map(({ kind, path }) => [kind, path])).toEqual([["quarantined", run.at("evil/.git")]]);
    expect(run.there("mine/.git/config")).toBe(true);
  });
});

describe("the project's own repository, where commands may commit", () => {
  const own: Files = {
    ".git/HEAD": "ref: refs/heads/main\n",
    ".git/config": "[core]\n\thooksPath = .husky\n",
    ".git/hooks/pre-commit": { program: "" },
    ".git/logs/mine": { link: "HEAD" },
    ".git/modules/old/HEAD": "",
    ".git/modules/old/config": pager,
    ".git/objects/info": directory,
  };

  test("is as the user has it", async () => {
    await using run = await begin(own, { open: ".git" });
    expect(await run.look()).toEqual([]);
  });

  const dangers: [title: string, files: Files, expected: string][] = [
    ["a symlink", { ".git/logs/HEAD": { link: "/nowhere" } }, "quarantined .git/logs/HEAD"],
    ["a symlink at the top", { ".git/FETCH_HEAD": { link: "/nowhere" } }, "quarantined .git/FETCH_HEAD"],
    [
      "a symlink in a submodule of before",
      { ".git/modules/old/logs/HEAD": { link: "/x" } },
      "quarantined .git/modules/old/logs/HEAD",
    ],
    ["a step of a rebase", { ".git/rebase-merge/git-rebase-todo": "exec evil\n" }, "quarantined .git/rebase-merge"],
    [
      "a submodule",
      { ".git/modules/new/HEAD": "", ".git/modules/new/config": pager },
      "quarantined .git/modules/new/config",
    ],
    [
      "a hook of a submodule",
      { ".git/modules/new/HEAD": "", ".git/modules/new/hooks/x": { program: "" } },
      "quarantined .git/modules/new/hooks/x",
    ],
  ];

  test.each(dangers)("loses %s that a command left in it", async (_, files, expected) => {
    await using run = await begin(own, { open: ".git" });
    run.write(files);
    expect(await run.look()).toEqual([expected]);
    expect(await run.look()).toEqual([]);
    expect(run.there(".git/config")).toBe(true);
  });

  test("loses a danger beside one that it had, or in its place", async () => {
    const old: Files = {
      ".git/rebase-merge/git-rebase-todo": "exec make test\n",
      ".git/rebase-merge/strategy": directory,
      ".git/remotes/mine": "URL: https://example.com/x\n",
      ".git/logs/mine/config": { link: "/nowhere" },
    };
    await using run = await begin({ ...own, ...old, ".git/logs/mine": directory }, { open: ".git" });
    expect(await run.look()).toEqual([]);
    rmSync(run.at(".git/logs/mine/config"));
    run.write({
      ".git/rebase-merge/git-rebase-todo": "exec make test\nexec evil\n",
      ".git/remotes/theirs": "URL: ext::evil\n",
      ".git/logs/mine/config": { link: "/elsewhere" },
    });
    expect(await run.look()).toEqual([
      "quarantined .git/logs/mine/config",
      "quarantined .git/rebase-merge",
      "quarantined .git/remotes",
    ]);
  });

  test("may get commits, branches, a submodule and a work tree", async () => {
    await using run = await begin({ a: "a", "other/x": "x" });
    const git = (...args: string[]) => runGit(run.project, run.env, args);
    git("init", "-q");
    git("add", "a");
    git("commit", "-qm", "a");
    git("-C", "other", "init", "-q");
    git("-C", "other", "add", "x");
    git("-C", "other", "commit", "-qm", "x");
    const paths = await ProtectedPaths.find([run.project], live);
    const newcomers = new NewRepositories(paths, { quarantine: run.quarantine, open: run.at(".git") });
    git("commit", "-q", "--allow-empty", "-m", "b");
    git("submodule", "--quiet", "add", run.at("other"), "part");
    git("worktree", "add", "-q", "tree");
    const found = await newcomers.look(live);
    expect(found.map(({ kind, path }) => `${kind} ${relative(run.project, path)}`).sort()).toEqual([
      "new part/.git",
      "new tree/.git",
    ]);
  });
});

describe("setting aside", () => {
  const doomed = (path: string) => ({ path, identity: identityAt(path) ?? "none", reason: "it is dangerous" });

  test("disarms in place what lies on another file system, and copies nothing", async () => {
    // Memory is another file system than the one with the temporary files, on the machines that have it.
    if (!existsSync("/dev/shm")) return;
    const other = mkdtempSync("/dev/shm/koda-test-");
    try {
      await using place = makePlace();
      writeFiles(place.project, { "x/.git/HEAD": "", "x/.git/config": pager });
      const found = moveToQuarantine(doomed(join(place.project, "x/.git")), other);
      if (found.kind !== "quarantined") throw new Error("it was quarantined");
      expect(found.movedTo).toStartWith(join(place.project, "x/.git.set-aside-by-koda-"));
      expect([readdirSync(other), existsSync(join(found.movedTo, "HEAD"))]).toEqual([[], false]);
    } finally {
      rmSync(other, { recursive: true });
    }
  });

  test("disarms in place when it cannot move", async () => {
    await using place = makePlace({ "x/.git/HEAD": "", "x/.git/config": pager, taken: "" });
    const found = await moveToQuarantine(doomed(join(place.project, "x/.git")), join(place.project, "taken"));
    if (found.kind !== "quarantined") throw new Error("it was quarantined");
    expect(found.movedTo).toStartWith(join(place.project, "x/.git.set-aside-by-koda-"));
    expect(readdirSync(found.movedTo).some((name) => name === "HEAD")).toBe(false);
    const paths = await ProtectedPaths.find([place.project], live);
    expect(paths.paths).toEqual([]);
  });

  test("says so when it can do neither", async () => {
    await using place = makePlace({ x: "" });
    const found = await moveToQuarantine({ ...doomed(join(place.project, "none")), identity: "gone" }, place.home);
    expect(levelOf(found)).toBe("error");
    expect(describeFinding(found, named(place.project))).toContain('Inspect "none" before running git there: ');
  });

  test("leaves alone what was not judged", async () => {
    await using place = makePlace({ "x/.git/a": "", "y/b": "" });
    const judged = doomed(join(place.project, "x/.git"));
    renameSync(join(place.project, "x/.git"), join(place.project, "x/old"));
    renameSync(join(place.project, "y"), join(place.project, "x/.git"));
    expect((await moveToQuarantine(judged, place.home)).kind).toBe("failed");
    expect(existsSync(join(place.project, "x/.git/b"))).toBe(true);
  });

  test("never leads out through a symlink that takes a directory's place meanwhile", async () => {
    await using place = makePlace({ "outside/.git/HEAD": "mine", "outside/.git/config": pager });
    const [x, aside, outside] = ["x", "aside", "outside"].map((name) => join(place.project, name));
    if (x === undefined || aside === undefined || outside === undefined) throw new Error("there are three");
    for (let round = 0; round < 100; round++) {
      writeFiles(x, { ".git/config": pager });
      const setting = moveToQuarantine(doomed(join(x, ".git")), join(place.home, "q"));
      renameSync(x, aside);
      symlinkSync(outside, x);
      await setting;
      rmSync(x);
      rmSync(aside, { recursive: true });
      expect(readFileSync(join(outside, ".git/HEAD"), "utf8")).toBe("mine");
    }
  });
});

test("looks at the same time take turns, and nothing is quarantined twice", async () => {
  await using run = await begin();
  run.write({ "a/.git/config": pager, "b/.git/config": pager });
  const all = await Promise.all([run.look(), run.look(), run.look()]);
  expect(all.flat().sort()).toEqual(["quarantined a/.git", "quarantined b/.git"]);
});

test("a command that makes and renames repositories all the time hides none that stays", async () => {
  await using run = await begin({ "src/x": "" });
  for (let round = 0; round < 30; round++) {
    const looking = run.look();
    run.write({ [`d${round}/.git/config`]: pager });
    await new Promise((resolve) => setImmediate(resolve));
    if (existsSync(run.at(`d${round}`))) renameSync(run.at(`d${round}`), run.at(`src/e${round}`));
    await looking;
  }
  await run.look();
  const left = [...new Bun.Glob("**/.git/config").scanSync({ cwd: run.project, dot: true })];
  expect(left).toEqual([]);
});

test("a quarantine that commands could reach is refused", async () => {
  await using place = makePlace();
  const paths = await ProtectedPaths.find([place.project], live);
  const quarantine = join(place.project, "q");
  expect(() => new NewRepositories(paths, { quarantine })).toThrow("could reach");

  const others = await ProtectedPaths.find([place.project], live, { except: [quarantine] });
  expect(() => new NewRepositories(others, { quarantine })).not.toThrow();
});

test("names cannot pretend to be another line, nor to be longer than people read", () => {
  const path = join("/p", "a\nb\u001b[2Jc");
  const text = describeFinding({ kind: "new", path }, named("/p"));
  expect(text).not.toMatch(/[\p{Cc}]/u);
  const parts = [...Array(20).keys()].map(String);
  const restored = describeFinding({ kind: "restored", path: "/p/.git", parts, lost: ["objects"] }, named("/p"));
  expect(restored).toBe(
    'A command changed protected files in ".git": restored "0", "1", "2", "3", "4" and 15 more entries; could not restore "objects".',
  );
});
