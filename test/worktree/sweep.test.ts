import { expect, test } from "bun:test";
import * as fs from "node:fs";
import { join } from "node:path";
import { readManifest } from "../../lib/worktree/manifest.ts";
import { manifestPath, type SnapshotKey, SnapshotRecorder } from "../../lib/worktree/record.ts";
import { shareSnapshots } from "../../lib/worktree/share.ts";
import { makeRoom, sweepSnapshots } from "../../lib/worktree/sweep.ts";
import { seeded } from "../support/random.ts";
import { makePlace, type Place } from "../support/place.ts";

const kilobyte = 1024;
const random = seeded(1);
/** Ten kilobytes that cannot be compressed. */
const noise = () => Uint8Array.from({ length: 10 * kilobyte }, () => Math.floor(random() * 256));

/** A place for snapshots, with a way to keep some. */
function makeShelf(place: Place) {
  const snapshots = join(place.home, "snapshots");
  const keyOf = (session: string, seq: number): SnapshotKey => ({ snapshots, session, by: "turn", seq });
  return {
    snapshots,
    keyOf,
    keep(session: string, seq: number, ...contents: readonly Uint8Array[]): number {
      const recorder = new SnapshotRecorder(keyOf(session, seq));
      const changes = contents.map((content, index) => {
        const before = { kind: "file" as const, mode: 0o100644, hash: recorder.keep(content) };
        return { path: `${index}`, before, after: { kind: "missing" as const } };
      });
      recorder.write([{ root: place.project, changes, made: [], removed: [] }]);
      // The order of turns is that of their times.
      fs.utimesSync(manifestPath(keyOf(session, seq)), seq, seq);
      return recorder.added;
    },
    contents: () => fs.readdirSync(join(snapshots, "contents")).length,
    kept: (session: string) => [1, 2, 3].filter((seq) => fs.existsSync(manifestPath(keyOf(session, seq)))),
  };
}

test("the oldest turns go first when there is too much, and what later ones need stays", async () => {
  await using place = makePlace();
  const shelf = makeShelf(place);
  const shared = noise();
  const added = shelf.keep("a", 1, noise(), shared) + shelf.keep("b", 2, noise(), shared) + shelf.keep("a", 3, noise());
  expect(added).toBeGreaterThan(40 * kilobyte);
  expect(makeRoom(shelf.snapshots, added, 50 * kilobyte)).toBe(0);
  expect(shelf.contents()).toBe(4);
  expect(makeRoom(shelf.snapshots, 0, 35 * kilobyte)).toBe(1);
  expect([shelf.kept("a"), shelf.kept("b"), shelf.contents()]).toEqual([[3], [2], 3]);
  expect(makeRoom(shelf.snapshots, 0, 1)).toBe(2);
  expect([shelf.kept("a"), shelf.kept("b"), shelf.contents()]).toEqual([[], [], 0]);
  expect(fs.readdirSync(join(shelf.snapshots, "sessions"))).toEqual([]);
});

test("deleted sessions free what only they need, at once", async () => {
  await using place = makePlace();
  const shelf = makeShelf(place);
  const shared = noise();
  shelf.keep("a", 1, noise(), shared);
  shelf.keep("b", 2, shared);
  shareSnapshots(shelf.snapshots, { from: "a", to: "fork" });
  expect(sweepSnapshots(shelf.snapshots, { sessions: ["b", "fork"] })).toBe(0);
  expect([shelf.kept("a"), shelf.kept("fork"), shelf.contents()]).toEqual([[], [1], 2]);
  sweepSnapshots(shelf.snapshots, { sessions: ["b"] });
  expect([shelf.kept("fork"), shelf.kept("b"), shelf.contents()]).toEqual([[], [2], 1]);
});

test("names of sessions lead nowhere else, and capitals count", async () => {
  await using place = makePlace();
  const shelf = makeShelf(place);
  const names = ["..", ".", "A", "a", "s-a"];
  for (const [index, name] of names.entries()) shelf.keep(name, index + 1, noise());
  expect(new Set(fs.readdirSync(join(shelf.snapshots, "sessions"))).size).toBe(names.length);
  expect(fs.readdirSync(shelf.snapshots).sort()).toEqual(["contents", "sessions"]);
});

test("what a killed process left is removed when it is old", async () => {
  await using place = makePlace();
  const shelf = makeShelf(place);
  shelf.keep("a", 1, noise());
  const left = ["contents/.new-1", "contents/.new-2", "sessions/s-a/.new-3"].map((path) => join(shelf.snapshots, path));
  for (const path of left) fs.writeFileSync(path, "half");
  const orphan = join(shelf.snapshots, "contents", "0".repeat(64));
  fs.writeFileSync(orphan, "no manifest names it");
  for (const path of [...left.slice(1), orphan]) fs.utimesSync(path, 1, 1);
  sweepSnapshots(shelf.snapshots, { sessions: ["a"] });
  expect(left.map((path) => fs.existsSync(path))).toEqual([true, false, false]);
  expect(fs.existsSync(orphan)).toBe(false);
});

test("a process that is killed while it keeps files leaves nothing half written", async () => {
  await using place = makePlace();
  const shelf = makeShelf(place);
  const script = `
    const { SnapshotRecorder } = await import(${JSON.stringify(join(import.meta.dir, "../../lib/worktree/record.ts"))});
    for (let seq = 1; ; seq++) {
      const recorder = new SnapshotRecorder({ snapshots: ${JSON.stringify(shelf.snapshots)}, session: "s", by: "turn", seq });
      const changes = Array.from({ length: 20 }, (_, index) => {
        const content = crypto.getRandomValues(new Uint8Array(60_000));
        const before = { kind: "file", mode: 0o100644, hash: recorder.keep(content) };
        return { path: String(index), before, after: { kind: "missing" } };
      });
      recorder.write([{ root: "/project", changes, made: [], removed: [] }]);
      if (seq === Number(process.argv.at(-1))) console.log("going");
    }`;
  for (let kill = 0; kill < 5; kill++) {
    const child = Bun.spawn([process.execPath, "-e", script, String(kill + 1)], { stdout: "pipe" });
    await child.stdout.getReader().read();
    child.kill("SIGKILL");
    await child.exited;
  }
  const names = fs.readdirSync(join(shelf.snapshots, "sessions/s-s")).filter((name) => !name.startsWith(".new-"));
  expect(names.length).toBeGreaterThan(2);
  for (const name of names) {
    const manifests = readManifest(join(shelf.snapshots, "sessions/s-s", name));
    if (!Array.isArray(manifests)) throw new Error(`${name}: ${manifests}`);
    for (const { before } of manifests.flatMap(({ changes }) => changes)) {
      if (before.kind === "missing") throw new Error("nothing was kept");
      const packed = fs.readFileSync(join(shelf.snapshots, "contents", before.hash ?? ""));
      expect(Bun.zstdDecompressSync(packed).length).toBe(60_000);
    }
  }
});
