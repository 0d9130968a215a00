import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { exec, follow, type Line, start, using } from "../support/koda.ts";
import { call, problem, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace, type Place } from "../support/place.ts";
import { seeded } from "../support/random.ts";
import { runGit } from "../support/worktree.ts";

const random = seeded(13);
const randomBytes = (length: number) => Uint8Array.from({ length }, () => random() * 256);

/** Every file and symlink below a directory, with its content and whether it can be executed. */
function treeOf(directory: string): Record<string, string> {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => !path.startsWith(join(directory, ".git/")));
  return Object.fromEntries(entries.sort().map((path) => [path.slice(directory.length + 1), describeEntry(path)]));
}

function describeEntry(path: string): string {
  const stats = lstatSync(path);
  if (stats.isSymbolicLink()) return `symlink ${readlinkSync(path)}`;
  return `${(stats.mode & 0o100) === 0 ? "file" : "program"} ${readFileSync(path).toString("base64")}`;
}

/** The run's patch, tried on a copy of the project as it was. */
async function patched(place: Place, script: string, { cd = ".", args = [] as readonly string[] } = {}) {
  const before = join(place.project, "../before");
  cpSync(place.project, before, { recursive: true, verbatimSymlinks: true });
  await using server = await startModelServer([call("Bash", { command: script }), say("Done.")]);
  const patch = join(place.project, "../run.patch");
  const ran = await exec(place, server, ["--cd", cd, "--patch", patch, "go", ...args]);
  expect(ran.end.tools, JSON.stringify(ran.events.find(({ type }) => type === "tool.end"))).toMatchObject({ ok: 1 });
  const apply = (...more: string[]) => runGit(join(before, cd), place.env, ["apply", ...more, patch]);
  const was = treeOf(before);
  return {
    ...ran,
    patch: readFileSync(patch),
    /** The patch leads from the state before to the state after, and back. */
    expectToApply(without: readonly string[] = []) {
      const is = treeOf(place.project);
      apply("--whitespace=nowarn");
      const others = (tree: Record<string, string>) => Object.entries(tree).filter(([path]) => !without.includes(path));
      expect(others(treeOf(before))).toEqual(others(is));
      apply("--whitespace=nowarn", "-R");
      expect(treeOf(before)).toEqual(was);
    },
  };
}

const warnings = (events: readonly Line[]) =>
  events.flatMap((event) => (event.type === "notice" && event.level === "warn" ? event.message : []));

const lines = (count: number, of: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => `${of(n)}\n`).join("");
const long = lines(100, (n) => `line ${n}`);

/** A change in the shell, beside the files that it needs. */
const changes: readonly [name: string, script: string, files?: Record<string, string | Uint8Array>][] = [
  ["lines that change", "sed -i -e 5d -e 's/line 50/& and more/' a.txt", { "a.txt": long }],
  ["a new file in a new directory", "mkdir -p new/deep; echo x > new/deep/file"],
  ["a new file that is empty", "touch empty"],
  ["a file that becomes empty", ": > full", { full: "text\n" }],
  ["an empty file that gets a line", "echo text > empty", { empty: "" }],
  ["deletes", "rm gone empty; rm -r dir", { gone: "x\n", empty: "", "dir/a": "1\n", "dir/b": "2\n" }],
  ["a rename", "mv old new; mv dir other", { old: long, "dir/file": long }],
  ["no newline at the end", "printf x > a; printf 'y\\n' > b; printf new > c", { a: "x\n", b: "y" }],
  [
    "ends of lines as in Windows",
    "printf 'one\\r\\n2\\r\\n' > a; printf 'x\\ry\\n' > b",
    { a: "one\r\ntwo\r\n", b: "x\n" },
  ],
  ["a file in Latin-1", "printf 'caf\\351\\nth\\351\\n' > a", { a: Buffer.from("caf\xe9\nt\xe9\n", "latin1") }],
  ["a file in UTF-16", "printf 'x\\0y\\0' > a", { a: Buffer.from("text", "utf16le") }],
  [
    "a file that can be executed now",
    "chmod +x a; chmod +x b; echo 2 >> b; chmod 600 c",
    { a: "1\n", b: "1\n", c: "1\n" },
  ],
  ["a new program", "printf '#!/bin/sh\\n' > run; chmod +x run"],
  [
    "binary files",
    "printf '\\0\\1' > new.bin; printf x >> a.bin; rm b.bin",
    {
      "a.bin": randomBytes(70_000),
      "b.bin": randomBytes(53),
    },
  ],
  ["text with a NUL far behind", "sed -i s/^a/b/ a", { a: `a\n${"x".repeat(9000)}\0\n` }],
  ["text that becomes binary", "printf '\\0' > a", { a: "text\n" }],
  ["a new symlink, and one to nowhere", "ln -s a.txt link; ln -s ../no/where gone; mkdir d; ln -s ../a.txt d/up"],
  ["a symlink that is retargeted", "ln -sfn b link; rm old", { "symlink link": "a", "symlink old": "nowhere" }],
  ["a file that becomes a symlink", "ln -sf b a", { a: "x\n", b: "y\n" }],
  ["a symlink that becomes a file", "rm link; echo now > link", { "symlink link": "a", a: "x\n" }],
  ["a file that becomes a directory", "rm a; mkdir a; echo x > a/file", { a: "x\n" }],
  ["a directory that becomes a file", "rm -r a; echo x > a", { "a/file": "x\n", "a/more/file": "y\n" }],
  [
    "an ignored file, which is left out",
    "echo y > build.log; echo y > kept",
    { ".gitignore": "*.log\n", "build.log": "x\n" },
  ],
  [
    "names",
    `for f in 'a b' ' lead' 'trail ' 'q"uote' 'back\\slash' "$(printf 't\\tab')" 'ünï' '日本' '-dash' 'x => y' '#h' "'"; do
      echo new > "$f"; echo more >> "old/$f"; rm "gone/$f"; done; echo x > "$(printf 'new\\nline')"`,
    Object.fromEntries(
      ["a b", " lead", "trail ", 'q"uote', "back\\slash", "t\tab", "ünï", "日本", "-dash", "x => y", "#h", "'"]
        .flatMap((name) => [`old/${name}`, `gone/${name}`])
        .map((path) => [path, "text\n"]),
    ),
  ],
  ["names that look like a header", "echo 1 > 'a b/a b'; mkdir 'x b'; echo 1 > 'x b/x'", { "a b/a b": "0\n" }],
];

function makeProject(files: Record<string, string | Uint8Array>): Place {
  const links = Object.entries(files).filter(([path]) => path.startsWith("symlink "));
  const place = makePlace(Object.fromEntries(Object.entries(files).filter(([path]) => !path.startsWith("symlink "))));
  for (const [path, target] of links) symlinkSync(String(target), join(place.project, path.slice("symlink ".length)));
  return place;
}

function commit({ project, env }: Place, ...init: string[]): void {
  runGit(project, env, ["init", "-q", ...init]);
  runGit(project, env, ["add", "-A"]);
  runGit(project, env, ["commit", "-q", "--allow-empty", "-m", "x"]);
}

describe("the patch of a run applies to the project as it was, and back:", () => {
  for (const [name, script, files = {}] of changes)
    test.concurrent(name, async () => {
      await using place = makeProject(files);
      commit(place);
      (await patched(place, script)).expectToApply(["build.log"]);
    });

  test("all of it at once, in no repository", async () => {
    const apart = changes.map(([, script, files = {}], n) => ({
      script: `(mkdir -p ${n}; cd ${n}; ${script})`,
      files: Object.entries(files).map(([path, content]) => {
        const link = path.startsWith("symlink ") ? "symlink " : "";
        return [`${link}${n}/${path.slice(link.length)}`, content] as const;
      }),
    }));
    const all = apart.flatMap(({ files }) => files);
    await using place = makeProject(Object.fromEntries(all.filter(([path]) => !path.startsWith("symlink "))));
    for (const [path, target] of all.filter(([path]) => path.startsWith("symlink "))) {
      const link = join(place.project, path.slice("symlink ".length));
      mkdirSync(join(link, ".."), { recursive: true });
      symlinkSync(String(target), link);
    }
    const ran = await patched(place, apart.map(({ script }) => script).join("\n"));
    expect(warnings(ran.events)).toEqual([]);
    const ignored = Object.keys(treeOf(place.project)).filter((path) => path.endsWith("build.log"));
    ran.expectToApply(ignored);
  });
});

test("a project below its repository, files that git did not know, and what was staged", async () => {
  await using place = makePlace({ "sub/a.txt": "1\n", "sub/b.txt": "1\n", "top.txt": "1\n" });
  commit(place);
  place.write("sub/a.txt", "changed\n");
  place.write("sub/staged.txt", "staged\n");
  runGit(place.project, place.env, ["add", "sub/staged.txt"]);
  place.write("sub/untracked.txt", "mine\n");
  const script = "for f in a b staged untracked; do echo more >> $f.txt; done";
  const ran = await patched(place, script, { cd: "sub" });
  ran.expectToApply();
  const expected = "--- a/sub/untracked.txt\n+++ b/sub/untracked.txt\n@@ -1,1 +1,2 @@\n mine\n+more\n";
  expect(ran.patch.toString()).toContain(expected);
});

test("a repository with long hashes takes binary files too", async () => {
  await using place = makePlace({ "a.bin": randomBytes(100) });
  commit(place, "--object-format=sha256");
  (await patched(place, "printf x >> a.bin; printf '\\0' > b.bin")).expectToApply();
});

test("it is not cut where the diff event is", async () => {
  await using place = makePlace({ "big.txt": lines(300_000, (n) => `line ${n} of the file`) });
  commit(place);
  const ran = await patched(place, "sed -i s/line/LINE/ big.txt");
  expect(warnings(ran.events)).toEqual(["The diff event is cut at 4 MiB and leaves out 1 changed file"]);
  expect(ran.patch.length).toBeGreaterThan(8 * 1024 * 1024);
  ran.expectToApply();
});

test("a file that is too large for it is named", async () => {
  await using place = makePlace({ "a.txt": "1\n" });
  const ran = await patched(place, "echo 2 > a.txt; truncate -s 65M huge.img");
  expect(warnings(ran.events)).toContain('The file of --patch lacks "huge.img": larger than 64 MiB');
  expect(ran.stderr).toContain('lacks "huge.img"');
  ran.expectToApply(["huge.img"]);
});

test("what koda writes itself is not in it, and what a background command writes last is", async () => {
  await using place = makePlace();
  const command = "trap 'echo late > late; exit' TERM; touch ready; while :; do sleep 0.05; done";
  const script = [
    call("Bash", { command, background: true }),
    call("Bash", { command: "while ! test -e ready; do sleep 0.05; done" }),
    say("Done."),
  ];
  await using server = await startModelServer(script);
  const flags = ["--patch", "run.patch", "-o", "answer.md", "--record", "run.tape"];
  const { end } = await exec(place, server, ["go", ...flags]);
  expect(end.exit).toBe(0);
  const patch = readFileSync(join(place.project, "run.patch"), "utf8");
  expect(patch.match(/^diff --git .*/gm)).toEqual(["diff --git a/late b/late", "diff --git a/ready b/ready"]);
});

test("without a change it is empty; a failed, limited or cancelled run has one too", async () => {
  await using place = makePlace({ "run.patch": "old\n" });
  const read = () => readFileSync(join(place.project, "run.patch"), "utf8");
  const flags = ["--patch", "run.patch", "go"];
  {
    await using server = await startModelServer([say("Nothing to do."), problem(401, "No.")]);
    expect((await exec(place, server, flags)).exit).toBe(0);
    expect(read()).toBe("");
    writeFileSync(join(place.project, "run.patch"), "old\n");
    expect((await exec(place, server, flags)).exit).toBe(4);
    expect(read()).toBe("");
  }
  const writes = call("Write", { path: "new.txt", content: "x\n" });
  {
    await using server = await startModelServer([writes, problem(400, "No.")]);
    expect((await exec(place, server, flags)).exit).toBe(1);
    expect(read()).toContain("+++ b/new.txt");
  }
  {
    await using server = await startModelServer([call("Bash", { command: "echo 1 > one; echo made; sleep 600" })]);
    const child = start(place, ["exec", "--json", ...using(server), ...flags]);
    const events = follow(child);
    await events.until(({ type }) => type === "tool.output");
    child.kill("SIGTERM");
    expect((await events.finished()).exit).toBe(143);
    expect(read()).toContain("+++ b/one");
  }
});

test("a run without a turn removes an old patch, and a refused command line leaves it", async () => {
  await using place = makePlace({ "run.patch": "old\n" });
  await using server = await startModelServer([]);
  const flags = ["--patch", "run.patch"];
  expect((await exec(place, server, ["go", "--max-turns", "0", ...flags])).exit).toBe(2);
  expect((await exec(place, server, [...flags])).exit).toBe(2);
  expect(existsSync(join(place.project, "run.patch"))).toBe(true);
  expect((await exec(place, server, ["go", "--resume", "nowhere", ...flags])).exit).toBe(10);
  expect(existsSync(join(place.project, "run.patch"))).toBe(false);
});

test("a patch that cannot be written is exit 11 before the first request, or at the end", async () => {
  await using place = makePlace({ "dir/file": "" });
  await using server = await startModelServer([call("Bash", { command: "rmdir sub" }), say("Done.")]);
  for (const file of ["dir", "no/such/run.patch"]) {
    const { end } = await exec(place, server, ["go", "--patch", file]);
    expect([end.exit, end.error?.code]).toEqual([11, "output"]);
    expect(end.error?.message).toContain(`"${file}" (--patch)`);
  }
  expect(server.requests).toHaveLength(0);
  mkdirSync(join(place.project, "sub"));
  const { end } = await exec(place, server, ["go", "--patch", "sub/run.patch", "-o", "answer.md"]);
  expect([end.exit, end.error?.code, existsSync(join(place.project, "answer.md"))]).toEqual([11, "output", false]);
});

test("the patch goes to a file of its own, with the mode that it had", async () => {
  await using place = makePlace({ "p.txt": "go\n", "run.patch": "old\n" });
  await using server = await startModelServer([say("Done.")]);
  const rows: [string[], string][] = [
    [["--patch", "-", "go"], "--patch - "],
    [["--patch", "x", "-o", "x", "go"], '--patch "x" and -o "x" are the same file'],
    [["--patch", "./x", "--record", "x", "go"], '--patch "./x" and --record "x" are the same file'],
    [["--patch", "p.txt", "-f", "p.txt"], '--patch "p.txt" would overwrite the file that -f reads'],
  ];
  for (const [args, message] of rows) {
    const { end } = await exec(place, server, args);
    expect([end.exit, end.error?.code]).toEqual([2, "usage"]);
    expect(end.error?.message).toContain(message);
  }
  chmodSync(join(place.project, "run.patch"), 0o640);
  expect((await exec(place, server, ["--patch", "run.patch", "go"])).exit).toBe(0);
  expect(statSync(join(place.project, "run.patch")).mode & 0o777).toBe(0o640);
});

test("the writes of a verification are in it", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("Done.")]);
  const { end } = await exec(place, server, ["go", "--verify", "echo x > checked", "--patch", "../run.patch"]);
  expect(end.verify?.passed).toBe(true);
  expect(readFileSync(join(place.project, "../run.patch"), "utf8")).toContain("+++ b/checked");
});

test("a file whose name is not UTF-8 is left out, also when git knows it", async () => {
  await using place = makePlace({ ok: "one\n" });
  const git = (...args: string[]) => runGit(place.project, place.env, args);
  git("init", "-q");
  writeFileSync(Buffer.concat([Buffer.from(`${place.project}/l`), Buffer.from([0xe9])]), "old\n");
  git("add", ".");
  git("commit", "-qm", "first");
  await using server = await startModelServer([
    call("Bash", { command: 'for f in *; do echo new > "$f"; done' }),
    say("Done."),
  ]);
  const patch = join(place.project, "../run.patch");
  const { end } = await exec(place, server, ["--patch", patch, "go"]);
  expect(end.exit).toBe(0);
  expect(readFileSync(patch, "utf8")).toContain("+++ b/ok");
  expect(readFileSync(patch, "utf8")).not.toContain("deleted");
});
