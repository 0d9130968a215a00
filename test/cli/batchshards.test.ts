import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { byKey, runBatch } from "../support/batch.ts";
import { koda } from "../support/koda.ts";
import { call, reply, say } from "../support/model-reply.ts";
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

test("results are not written through a link that a task has put in the place of their directory", async () => {
  await using place = makePlace({ "elsewhere/results.jsonl": "mine\n" });
  const command = "rm -r out && ln -s elsewhere out && echo linked";
  const script = [call("Bash", { command, description: "Put a link there" }), say("Done.")];
  await using server = await startModelServer(script);
  const { exit, stderr } = await runBatch(place, server, [{ key: "a", dir: "." }], ["--results", "out"]);
  expect(server.requests[1]?.lines.at(-1)?.text).toContain("linked");
  expect([exit, stderr]).toEqual([11, expect.stringContaining('Cannot write the results to "out"')]);
  expect(readFileSync(join(place.project, "elsewhere/results.jsonl"), "utf8")).toBe("mine\n");
  expect(readdirSync(join(place.project, "elsewhere"))).toEqual(["results.jsonl"]);
});

test("results merge whatever number of tokens a provider counts", async () => {
  await using place = makePlace();
  const most = Number.MAX_SAFE_INTEGER;
  await using server = await startModelServer(() => reply(say("Done."), { usage: { input: most, output: most } }));
  const rows = ["a", "b", "c"].map((key) => ({ key }));
  expect((await runBatch(place, server, rows, ["--results", "all"])).exit).toBe(0);
  expect((await koda(place, ["batch", "merge", "all", "--format", "csv"])).exit).toBe(0);
});
