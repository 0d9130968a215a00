import { describe, expect, test } from "bun:test";
import * as fs from "node:fs";
import { join } from "node:path";
import { HeldDirectory, openFile } from "../../lib/files/held.ts";
import { createFile, replaceFile } from "../../lib/files/save.ts";
import { namesIn } from "../support/files.ts";
import { makePlace } from "../support/place.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const openDescriptors = () => fs.readdirSync("/proc/self/fd").length;

/** How a system without `/proc/self/fd` works; there only the last look is checked, not the moment after it. */
const elsewhere = { descriptors: "/nowhere" };

describe.each([
  ["through descriptors", {}],
  ["by path", elsewhere],
])("%s", (_, how) => {
  test("files are created, looked at, replaced and listed", async () => {
    await using place = makePlace({ "d/old": "old" });
    using directory = HeldDirectory.open(join(place.project, "d"), how);
    createFile({ directory, name: "new" }, bytes("new"));
    const old = directory.look("old");
    if (old === undefined) throw new Error("the file is there");
    replaceFile({ directory, name: "old" }, bytes("newer"), old);
    expect(directory.names()).toEqual(["new", "old"]);
    expect(fs.readFileSync(join(place.project, "d/old"), "utf8")).toBe("newer");
    expect(directory.look("none")).toBeUndefined();
  });

  test("missing directories are made on request only", async () => {
    await using place = makePlace();
    const path = join(place.project, "a/b/c");
    expect(() => HeldDirectory.open(path, how)).toThrow("ENOENT");
    HeldDirectory.open(path, { ...how, create: true })[Symbol.dispose]();
    expect(fs.statSync(path).isDirectory()).toBe(true);
  });

  test("a symlink on the way is not followed, neither to a directory nor while making one", async () => {
    await using place = makePlace({ "real/x": "" });
    fs.symlinkSync("real", join(place.project, "link"));
    expect(() => HeldDirectory.open(join(place.project, "link"), how)).toThrow();
    expect(() => HeldDirectory.open(join(place.project, "link/deep"), { ...how, create: true })).toThrow();
    expect(fs.existsSync(join(place.project, "real/deep"))).toBe(false);
  });

  test("a file, a symlink and a FIFO are no directory", async () => {
    await using place = makePlace({ file: "" });
    Bun.spawnSync(["mkfifo", join(place.project, "fifo")]);
    for (const name of ["file", "fifo"]) expect(() => HeldDirectory.open(join(place.project, name), how)).toThrow();
  });

  test("only a regular file is opened for reading, and a FIFO without a writer does not stop it", async () => {
    await using place = makePlace({ "d/file": "x", secret: "s" });
    Bun.spawnSync(["mkfifo", join(place.project, "d/fifo")]);
    fs.symlinkSync("../secret", join(place.project, "d/link"));
    using directory = HeldDirectory.open(join(place.project, "d"), how);
    using file = directory.openFile("file");
    expect(file.stats.size).toBe(1n);
    expect(() => directory.openFile("fifo")).toThrow("replaced");
    expect(() => directory.openFile("link")).toThrow("ELOOP");
    expect(() => directory.openFile("none")).toThrow("ENOENT");
  });

  test.each(["", ".", "..", "a/b", "/etc"])("%j is not taken for the name of an entry", async (name) => {
    await using place = makePlace();
    using directory = HeldDirectory.open(place.project, how);
    expect(() => directory.at(name)).toThrow("not an entry");
  });
});

test("a directory that is swapped for a symlink while it is held receives the write all the same, and the target does not", async () => {
  await using place = makePlace({ "d/old": "old", "outside/old": "untouched" });
  const path = join(place.project, "d");
  using directory = HeldDirectory.open(path);
  const old = directory.look("old");
  fs.renameSync(path, join(place.project, "moved"));
  fs.symlinkSync("outside", path);

  createFile({ directory, name: "new" }, bytes("new"));
  if (old === undefined) throw new Error("the file is there");
  replaceFile({ directory, name: "old" }, bytes("newer"), old);
  expect(namesIn(join(place.project, "outside"))).toEqual(["old"]);
  expect(fs.readFileSync(join(place.project, "outside/old"), "utf8")).toBe("untouched");
  expect(fs.readFileSync(join(place.project, "moved/old"), "utf8")).toBe("newer");
  expect(fs.readFileSync(join(place.project, "moved/new"), "utf8")).toBe("new");
});

test("without descriptors a swapped directory is noticed at the next use", async () => {
  await using place = makePlace({ "d/old": "", "outside/x": "" });
  const path = join(place.project, "d");
  using directory = HeldDirectory.open(path, elsewhere);
  fs.renameSync(path, join(place.project, "moved"));
  fs.symlinkSync("outside", path);
  expect(() => createFile({ directory, name: "new" }, bytes("new"))).toThrow("replaced by something else");
  expect(namesIn(join(place.project, "outside"))).toEqual(["x"]);
});

describe("a file", () => {
  test("that appears before a new one is written is not overwritten", async () => {
    await using place = makePlace({ "d/x": "theirs" });
    using directory = HeldDirectory.open(join(place.project, "d"));
    expect(() => createFile({ directory, name: "x" }, bytes("ours"))).toThrow("EEXIST");
    expect(fs.readFileSync(join(place.project, "d/x"), "utf8")).toBe("theirs");
    expect(directory.names()).toEqual(["x"]);
  });

  test("that becomes a dangling symlink before it is created is not written through", async () => {
    await using place = makePlace({ "d/x": "" });
    fs.symlinkSync("../outside", join(place.project, "d/new"));
    using directory = HeldDirectory.open(join(place.project, "d"));
    expect(() => createFile({ directory, name: "new" }, bytes("ours"))).toThrow("EEXIST");
    expect(fs.existsSync(join(place.project, "outside"))).toBe(false);
  });

  const changes: [how: string, change: (path: string) => void][] = [
    ["written to", (path) => fs.writeFileSync(path, "them")],
    [
      "swapped for another of the same size",
      (path) => {
        fs.writeFileSync(`${path}.2`, "them");
        fs.renameSync(`${path}.2`, path);
      },
    ],
    [
      "swapped for a symlink",
      (path) => {
        fs.renameSync(path, `${path}.before`);
        fs.symlinkSync(`${path}.before`, path);
      },
    ],
    ["removed", (path) => fs.renameSync(path, `${path}.gone`)],
  ];

  test.each(changes)("that was %s after it was looked at is left alone, and nothing lies about", async (_, change) => {
    await using place = makePlace({ "d/x": "ours" });
    const path = join(place.project, "d/x");
    using directory = HeldDirectory.open(join(place.project, "d"));
    const old = directory.look("x");
    if (old === undefined) throw new Error("the file is there");
    change(path);
    const before = directory.names();
    expect(() => replaceFile({ directory, name: "x" }, bytes("new"), old)).toThrow();
    expect(directory.names()).toEqual(before);
    if (before.includes("x")) expect(fs.readFileSync(path, "utf8")).not.toBe("new");
  });
});

test("no descriptor is left open, whether it goes well or not", async () => {
  await using place = makePlace({ "a/b/x": "x" });
  fs.symlinkSync("b", join(place.project, "a/link"));
  const before = openDescriptors();
  for (let round = 0; round < 20; round++) {
    openFile(join(place.project, "a/b/x"))[Symbol.dispose]();
    expect(() => openFile(join(place.project, "a/b"))).toThrow();
    expect(() => openFile(join(place.project, "a/link/x"))).toThrow();
    expect(() => openFile(join(place.project, "a/none/x"))).toThrow();
    using directory = HeldDirectory.open(join(place.project, "a/b"));
    expect(() => createFile({ directory, name: "x" }, bytes(""))).toThrow();
  }
  expect(openDescriptors()).toBe(before);
});

test("descriptors are not passed on to a command", async () => {
  await using place = makePlace();
  fs.mkdirSync(join(place.project, "d"));
  using _directory = HeldDirectory.open(join(place.project, "d"));
  const listed = Bun.spawnSync(["ls", "-l", "/proc/self/fd"]).stdout.toString();
  expect(listed).not.toContain(join(place.project, "d"));
});
