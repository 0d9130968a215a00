import { expect, test } from "bun:test";
import { byKey, runBatch } from "../support/batch.ts";
import { koda } from "../support/koda.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";

test("shards with their results merge to one run", async () => {
  await using place = makePlace();
  await using server = await startModelServer(byKey({}));
  const rows = ["a", "b", "c", "d", "e"].map((key) => ({
    key,
    ...(key === "d" && { options: { "fail-on": "no-change" } }),
  }));
  const shards = await Promise.all(
    [1, 2].map((at) => runBatch(place, server, rows, ["--shard", `${at}/2`, "--results", `s${at}`, "--keep-going"])),
  );
  expect(shards.map(({ exit }) => exit).toSorted()).toEqual([0, 3]);
  const merged = await koda(place, ["batch", "merge", "s2", "s1", "--format", "csv"]);
  expect(merged.exit).toBe(3);
  const lines = merged.stdout.trimEnd().split("\r\n").slice(1);
  expect(lines.map((line) => line.split(",").slice(0, 2).join(" "))).toEqual(
    rows.map(({ key }) => `${key} ${key === "d" ? "failed" : "done"}`),
  );
  const own = await koda(place, ["batch", "merge", "s1", "s2", "--results", "../project/s1"]);
  expect([own.exit, own.stderr]).toEqual([
    2,
    'koda: --results "../project/s1" is the shard "s1": name another directory\n',
  ]);
  const whole = await koda(place, ["batch", "merge", "s1", "s2", "--results", "all", "--format", "csv"]);
  expect([whole.exit, whole.stdout]).toEqual([3, merged.stdout]);
  expect((await koda(place, ["batch", "merge", "all", "--format", "csv"])).stdout).toBe(merged.stdout);
  const missing = await koda(place, ["batch", "merge", "s1"]);
  expect([missing.exit, missing.stderr]).toEqual([2, "koda: Cannot merge: shard 2/2 is missing\n"]);
});
