import { expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { idIn, outcomesIn, runBatch } from "../support/batch.ts";
import { batches, makeRepository } from "../support/fleetplace.ts";
import { koda } from "../support/koda.ts";
import { call, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";

const pinned: string[] = [];

function pin(path: string): boolean {
  const isPinned = Bun.which("chattr") !== null && Bun.spawnSync(["chattr", "+i", path]).exitCode === 0;
  if (isPinned) pinned.push(path);
  return isPinned;
}

function unpin(): void {
  for (const path of pinned.splice(0)) Bun.spawnSync(["chattr", "-i", path]);
}

/** Needs root, and a file system that knows it. */
function canPin(): boolean {
  const directory = mkdtempSync(join(tmpdir(), "koda-pin-"));
  const file = join(directory, "a");
  writeFileSync(file, "");
  const can = pin(file);
  unpin();
  rmSync(directory, { recursive: true });
  return can;
}

test.skipIf(!canPin())(
  "a tree that cannot be removed stops nothing, and no later attempt goes on in what is left of it",
  async () => {
    await using place = makePlace();
    using _ = { [Symbol.dispose]: unpin };
    const files = Array.from({ length: 20 }, (_, at) => [`dir${at}/a.txt`, "one\n"]);
    const repo = makeRepository(place, Object.fromEntries(files));
    const answers = [call("Write", { path: "new.txt", content: "new\n" }), call("Read", { path: "new.txt" })];
    await using server = await startModelServer((_, index) => {
      const [batch = ""] = readdirSync(batches(place));
      if (index === 1) pin(join(batches(place), batch, "a/dir7/a.txt"));
      return answers[index] ?? say("Done.");
    });
    const ran = await runBatch(place, server, [{ key: "a", repo, options: { "max-turns": 2 } }]);
    expect([ran.exit, outcomesIn(ran)], ran.stderr).toEqual([5, { a: "limit" }]);
    const id = idIn(ran);
    expect(ran.stderr).toMatch(/^note {2}a: Cannot remove ".*\/a": operation not permitted \(EPERM\)$/m);
    expect((await koda(place, ["batch", "retry", id, "--limits"])).exit).toBe(0);
    const again = await koda(place, ["batch", "run", "--resume", id]);
    expect([again.exit, outcomesIn(again)], again.stderr).toEqual([0, { a: "done" }]);
    const { stdout } = await koda(place, ["batch", "results", id, "--format", "swebench"]);
    const { model_patch: patch } = JSON.parse(stdout) as { model_patch: string };
    expect(patch.match(/^diff --git .*$/gm)).toEqual(["diff --git a/new.txt b/new.txt"]);
    unpin();
    const other = await runBatch(place, server, [{ key: "b" }]);
    expect([other.exit, outcomesIn(other)], other.stderr).toEqual([0, { b: "done" }]);
    expect(existsSync(join(batches(place), id))).toBe(false);
  },
);
