import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { isBelow } from "../../lib/files/path.ts";
import { resolvePath, resolveEntry, whyHidden, whyUndeletable, whyUnwritable } from "../../lib/trust/path.ts";
import { evaluateAsNobody } from "../support/nobody.ts";
import { makePlace } from "../support/place.ts";
import { policyOf } from "../support/policy.ts";

const place = makePlace({
  "a.txt": "a",
  "src/b.ts": "b",
  "src/deep/c.ts": "c",
  "ünï/日本.txt": "u",
  ".gitignore": "x",
});
const { home, project } = place;
const base = dirname(project);
const link = (target: string, path: string) => symlinkSync(target, join(project, path));
const directories = ["other", "sibling-project", "home/.ssh", "home/code", "project2", "project/vendor/lib/.git"];
for (const path of directories) mkdirSync(join(base, path), { recursive: true });
for (const path of [".git/hooks", ".koda", "vendor/lib/.koda", "gitdir", "secrets/open", "frozen/in"])
  mkdirSync(join(project, path), { recursive: true });
for (const path of ["home/.ssh/id", "home/.netrc", "home/notes", "other/o.txt", "project2/p.txt"])
  writeFileSync(join(base, path), "secret");

link("a.txt", "to-file");
link("to-file", "to-link");
link(join(project, "src"), "to-src");
link("../other", "to-other");
link("../other/o.txt", "to-outside-file");
link("/etc/hostname", "to-etc");
link("missing.txt", "dangling");
link("../other/new.txt", "dangling-out");
link("loop-b", "loop-a");
link("loop-a", "loop-b");
link("self", "self");
link("../project/src", "out-and-in");
link("src/deep", "to-deep");
link(join(home, ".ssh"), "to-ssh");
link(".git", "to-git");
link("../gitdir", "vendor/.git");
link("/", "to-slash");
link(".", "to-here");
for (let hop = 0; hop < 45; hop++) link(hop === 44 ? "a.txt" : `hop${hop + 1}`, `hop${hop}`);
Bun.spawnSync(["mkfifo", join(project, "fifo")]);
const socket = createServer();
await new Promise<void>((resolve) => socket.listen(join(project, "socket"), resolve));

afterAll(async () => {
  await new Promise((resolve) => socket.close(resolve));
  await place[Symbol.asyncDispose]();
});

const policy = policyOf(place, {
  readonly: [join(project, ".git"), join(project, ".koda"), join(project, "frozen")],
  hide: [join(home, ".ssh"), join(home, ".netrc"), join(project, "secrets")],
  write: [project, join(base, "tmp"), join(project, "secrets/open"), join(base, "project2")],
});

type Row = [given: string, shown: string, kind: string, judged?: "outside" | "protected" | "read-only" | "hidden"];

const rows: Row[] = [
  ["a.txt", "a.txt", "file"],
  ["./a.txt", "a.txt", "file"],
  ["././/a.txt", "a.txt", "file"],
  [`${project}/a.txt`, "a.txt", "file"],
  [`//${project}//src///b.ts`, "src/b.ts", "file"],
  [".", ".", "directory"],
  ["./", ".", "directory"],
  [project, ".", "directory"],
  [`${project}/`, ".", "directory"],
  ["src", "src", "directory"],
  ["src/", "src", "directory"],
  ["src/..", ".", "directory"],
  ["src/../a.txt", "a.txt", "file"],
  ["src/deep/../../a.txt", "a.txt", "file"],
  ["ünï/日本.txt", "ünï/日本.txt", "file"],
  [".gitignore", ".gitignore", "file"],
  ["fifo", "fifo", "fifo"],
  ["socket", "socket", "socket"],
  ["/dev/null", "/dev/null", "device", "outside"],

  // What does not exist yet.
  ["new.txt", "new.txt", "missing"],
  ["x/y/z.txt", "x/y/z.txt", "missing"],
  ["x/../new.txt", "new.txt", "missing"],
  ["x/y/../../a.txt", "a.txt", "file"],
  ["x/../../other/o.txt", join(base, "other/o.txt"), "file", "outside"],
  ["x/../to-other/new", join(base, "other/new"), "missing", "outside"],

  // Symlinks that stay inside.
  ["to-file", "a.txt", "file"],
  ["to-link", "a.txt", "file"],
  ["to-src/b.ts", "src/b.ts", "file"],
  ["to-src/new.ts", "src/new.ts", "missing"],
  ["to-deep/../b.ts", "src/b.ts", "file"],
  ["out-and-in/b.ts", "src/b.ts", "file"],
  ["dangling", "missing.txt", "missing"],
  ["to-here/to-here/a.txt", "a.txt", "file"],

  // Out of the project.
  ["..", base, "directory", "outside"],
  ["../project2/p.txt", join(base, "project2/p.txt"), "file"],
  ["../sibling-project", join(base, "sibling-project"), "directory", "outside"],
  [`${project}-evil/x`, `${project}-evil/x`, "missing", "outside"],
  ["to-other", join(base, "other"), "directory", "outside"],
  ["to-other/../project/a.txt", "a.txt", "file"],
  ["to-outside-file", join(base, "other/o.txt"), "file", "outside"],
  ["dangling-out", join(base, "other/new.txt"), "missing", "outside"],
  ["to-slash", "/", "directory", "outside"],
  [`to-slash/${project}/a.txt`, "a.txt", "file"],
  ["../../../../../../../../../../..", "/", "directory", "outside"],
  ["/", "/", "directory", "outside"],
  ["~", home, "directory", "outside"],
  ["~/notes", join(home, "notes"), "file", "outside"],
  ["~user", "~user", "missing"],
  ["./~", "~", "missing"],

  // Protected and read-only.
  [".git", ".git", "directory", "protected"],
  [".git/config", ".git/config", "missing", "protected"],
  [".git/hooks/pre-commit", ".git/hooks/pre-commit", "missing", "protected"],
  ["src/../.git/config", ".git/config", "missing", "protected"],
  [".GIT/config", ".GIT/config", "missing", "protected"],
  ["to-git/config", ".git/config", "missing", "protected"],
  [".koda/config.json", ".koda/config.json", "missing", "protected"],
  ["vendor/lib/.git/config", "vendor/lib/.git/config", "missing", "protected"],
  ["vendor/lib/.koda/x", "vendor/lib/.koda/x", "missing", "protected"],
  ["vendor/.git/config", "gitdir/config", "missing", "protected"],
  ["brand/new/.git/config", "brand/new/.git/config", "missing", "protected"],
  ["../project2/.git", join(base, "project2/.git"), "missing", "protected"],
  [".git2/config", ".git2/config", "missing"],
  ["frozen", "frozen", "directory", "read-only"],
  ["frozen/in/new", "frozen/in/new", "missing", "read-only"],
  ["FROZEN/new", "FROZEN/new", "missing", "read-only"],
  ["frozen2", "frozen2", "missing"],

  // Hidden.
  ["~/.ssh", join(home, ".ssh"), "directory", "hidden"],
  ["~/.ssh/id", join(home, ".ssh/id"), "file", "hidden"],
  ["~/.SSH/id", join(home, ".SSH/id"), "missing", "hidden"],
  ["~/.netrc", join(home, ".netrc"), "file", "hidden"],
  ["~/.netrc2", join(home, ".netrc2"), "missing", "outside"],
  ["../home/code/../.ssh/id", join(home, ".ssh/id"), "file", "hidden"],
  ["to-ssh/id", join(home, ".ssh/id"), "file", "hidden"],
  ["secrets/key", "secrets/key", "missing", "hidden"],
  ["secrets/open/x", "secrets/open/x", "missing"],
  [`/proc/${process.pid}/environ`, `/proc/${process.pid}/environ`, "file", "hidden"],
  ["/proc/self/environ", `/proc/${process.pid}/environ`, "file", "hidden"],
];

describe("where a path leads", () => {
  test.each(rows.map(([given, ...expected]) => ({ given, expected })))(
    "$given",
    ({ given, expected: [shown, kind, judged] }) => {
      const found = resolvePath(given, policy);
      expect(found.fault).toBeUndefined();
      expect({ shown: found.shown, kind: found.kind as string }).toEqual({ shown, kind });
      expect(found.real).toBe(shown === "." ? project : shown.startsWith("/") ? shown : join(project, shown));
      if (judged === undefined) expect(found.outside).toBeUndefined();
      else expect(found.outside).toContain(judged);
      expect(found.hidden !== undefined).toBe(judged === "hidden");
    },
  );
});

const faults: [given: string, says: string][] = [
  ["", "empty"],
  ["a\0.txt", "NUL"],
  ["file:///etc/hosts", "URL"],
  ["https://example.com/x", "URL"],
  ["loop-a", "too many levels of symbolic links"],
  ["loop-a/x", "too many levels of symbolic links"],
  ["self/x/y", "too many levels of symbolic links"],
  ["hop0", "too many levels of symbolic links"],
  ["n".repeat(256), "255 bytes"],
  [`missing/${"n".repeat(256)}`, "255 bytes"],
  ["é".repeat(128), "255 bytes"],
  ["d/".repeat(2500), "4095 bytes"],
  ["a.txt/x", "not a directory"],
  ["a.txt/", "not a directory"],
  ["a.txt/..", "not a directory"],
  ["to-file/x", "not a directory"],
  ["fifo/x", "not a directory"],
];

test.each(faults)("%j is a fault that says why", (given, says) => {
  const found = resolvePath(given, policy);
  expect(found.fault).toContain(says);
  expect(found).not.toHaveProperty("outside");
});

test("as many symlinks in a row as the kernel follows are followed", () => {
  expect(resolvePath("hop5", policy)).toMatchObject({ shown: "a.txt", kind: "file" });
});

const entries: Row[] = [
  ["to-file", "to-file", "symlink"],
  ["to-file/", "to-file", "symlink"],
  ["to-src", "to-src", "symlink"],
  ["to-src/.", "src", "directory"],
  ["to-src/b.ts", "src/b.ts", "file"],
  ["to-other", "to-other", "symlink"],
  ["to-other/o.txt", join(base, "other/o.txt"), "file", "outside"],
  ["to-ssh", "to-ssh", "symlink"],
  ["to-slash", "to-slash", "symlink"],
  ["dangling", "dangling", "symlink"],
  ["loop-a", "loop-a", "symlink"],
  ["vendor/.git", "vendor/.git", "symlink", "protected"],
  ["nothing", "nothing", "missing"],
  ["src/..", ".", "directory"],
];

test.each(entries.map(([given, ...expected]) => ({ given, expected })))(
  "the entry itself: $given",
  ({ given, expected: [shown, kind, judged] }) => {
    const found = resolveEntry(given, policy);
    expect({ shown: found.shown, kind: found.kind as string }).toEqual({ shown, kind });
    if (judged === undefined) expect(found.outside).toBeUndefined();
    else expect(found.outside).toContain(judged);
  },
);

test("a directory that may not be entered is a fault that names it, and no error", async () => {
  const script = `
    const { resolvePath } = await import(${JSON.stringify(join(import.meta.dir, "../../lib/trust/path.ts"))});
    const answer = resolvePath("closed/in/x", input);`;
  mkdirSync(join(project, "closed/in"), { recursive: true });
  chmodSync(base, 0o755);
  chmodSync(join(project, "closed"), 0o000);
  expect(await evaluateAsNobody(script, policy)).toMatchObject({
    fault: `permission to look at "${join(project, "closed/in")}" is denied`,
  });
  chmodSync(join(project, "closed"), 0o755);
});

test("nothing is writable when no root is", () => {
  expect(resolvePath("a.txt", { ...policy, write: [] }).outside).toContain("outside the writable directories");
});

test("a writable root of / makes everything writable but what is protected, read-only or hidden", () => {
  const wide = { ...policy, write: ["/"] };
  expect(whyUnwritable("/etc/x", wide)).toBeUndefined();
  expect(whyUnwritable("/srv/x/.git/config", wide)).toContain("protected");
  expect(whyUnwritable(join(project, "frozen"), wide)).toContain("read-only");
  expect(resolvePath("~/.ssh/id", wide).outside).toContain("hidden");
});

test("what the kernel makes up is not written to, but for what is granted inside of it", () => {
  const wide = { ...policy, write: ["/"] };
  for (const path of ["/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/sys/kernel/x", "/dev/sda"])
    expect(whyUnwritable(path, wide)).toContain("the kernel provides it");
  expect(whyUnwritable("/process", wide)).toBeUndefined();
  const inMemory = { ...policy, write: ["/dev/shm/project"] };
  expect(whyUnwritable("/dev/shm/project/a", inMemory)).toBeUndefined();
  expect(whyHidden("/dev/shm/project/a", inMemory)).toBeUndefined();
  expect(whyHidden("/dev/shm/other", inMemory)).toContain("hidden");
});

test("what is shown can be read, and not written, however much around it is hidden", () => {
  const rules = { ...policy, hide: [join(home, ".ssh"), "/s/a/b"], show: [join(home, ".ssh/id"), "/s/a/b", "/s"] };
  expect(resolvePath("~/.ssh/id", rules)).toMatchObject({ kind: "file", outside: expect.stringContaining("outside") });
  expect(resolvePath("~/.ssh/id", rules).hidden).toBeUndefined();
  expect(resolvePath("to-ssh/id", rules).hidden).toBeUndefined();
  expect(resolvePath("~/.ssh", rules).hidden).toBeDefined();
  expect(resolvePath("~/.ssh/ID", rules).hidden).toBeDefined();
  expect(whyHidden("/s/a/b/c", rules)).toBeUndefined();
});

test("allowing commits opens .git to commands only", () => {
  const rules = { ...policy, allowGit: true, readonly: [] };
  for (const path of [".git/config", ".git/refs/heads/x", "vendor/lib/.git/HEAD", ".GIT/HEAD"])
    expect(resolvePath(path, rules).outside).toContain("protected");
});

test("a project inside a directory called .koda is a project like any other", () => {
  const root = "/srv/.koda/work";
  expect(whyUnwritable(`${root}/a`, { ...policy, root, write: [root] })).toBeUndefined();
  expect(whyUnwritable(`${root}/.koda/a`, { ...policy, root, write: [root] })).toContain("protected");
});

test("of hidden and writable the deeper rule wins, and hidden when they are the same", () => {
  const rules = { ...policy, hide: ["/t", "/w/deep"], write: ["/t/project", "/w", "/w/deep"] };
  expect(whyHidden("/t/other", rules)).toContain("hidden");
  expect(whyHidden("/t/project/x", rules)).toBeUndefined();
  expect(whyHidden("/w/x", rules)).toBeUndefined();
  expect(whyHidden("/w/deep/x", rules)).toContain("hidden");
});

const deletions: [real: string, refused: boolean][] = [
  ["/", true],
  [home, true],
  [base, true],
  [dirname(base), true],
  [project, true],
  [join(base, "project2"), true],
  [join(project, "secrets/open"), true],
  [join(project, "secrets"), true],
  [join(project, "src"), false],
  [join(project, "a.txt"), false],
  [join(home, "notes"), false],
  [join(base, "other"), false],
];

test.each(deletions)("may %s never be deleted? %p", (real, refused) => {
  expect(whyUndeletable(real, policy) !== undefined).toBe(refused);
});

test("a name that only begins like a directory is not in it", () => {
  expect(isBelow("/a/b", "/a/b")).toBe(true);
  expect(isBelow("/a/b/c", "/a/b")).toBe(true);
  expect(isBelow("/a/bc", "/a/b")).toBe(false);
  expect(isBelow("/a", "/")).toBe(true);
});
