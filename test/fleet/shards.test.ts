import { describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { KodaError } from "../../lib/errors.ts";
import { tasksOfShard } from "../../lib/fleet/list/shards.ts";
import { openResults, type ResultsHeading } from "../../lib/fleet/results/directory.ts";
import { beginResults, writeResults } from "../../lib/fleet/results/write.ts";
import { mergeShards } from "../../lib/fleet/results/merge.ts";
import type { ResultRow } from "../../lib/fleet/results/row.ts";
import type { FleetTask } from "../../lib/fleet/task.ts";
import { makePlace, type Place } from "../support/place.ts";
import { seeded } from "../support/random.ts";
import { resultRow, resultSet } from "../support/results.ts";

const task = (key: string, after: readonly string[] = []): FleetTask => ({
  key,
  prompt: "do it",
  args: [],
  after: [...after],
  group: "default",
  labels: [],
});

const shardsOf = (tasks: readonly FleetTask[], of: number) =>
  Array.from({ length: of }, (_, at) => tasksOfShard(tasks, { index: at + 1, of }));

describe("16 shards have every task once, and what waits for each other in one, for", () => {
  for (let seed = 1; seed <= 20; seed++)
    test(`list ${seed}`, () => {
      const fraction = seeded(seed);
      const next = (below: number) => Math.floor(fraction() * below);
      const tasks = Array.from({ length: next(300) }, (_, at) => {
        const after = at > 0 && next(4) === 0 ? [`t${next(at)}`] : [];
        return task(`t${at}`, after);
      });
      const shards = shardsOf(tasks, 16);
      const keys = shards.map((shard) => shard.map(({ key }) => key));
      expect(keys.flat().toSorted()).toEqual(tasks.map(({ key }) => key).toSorted());
      for (const [at, shard] of shards.entries())
        for (const { after } of shard) for (const other of after) expect(keys[at]).toContain(other);
    });
});

test("a list has at most one task more in a shard than in another, unless tasks belong together", () => {
  const tasks = Array.from({ length: 10_000 }, (_, at) => task(`t${at}`, at === 5 ? ["t1", "t2", "t3", "t4"] : []));
  const sizes = shardsOf(tasks, 7).map(({ length }) => length);
  expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
});

test("tasks that wait for nothing are dealt in turn", () => {
  const tasks = ["a", "b", "c", "d", "e"].map((key) => task(key));
  expect(shardsOf(tasks, 2).map((shard) => shard.map(({ key }) => key).join(""))).toEqual(["ace", "bd"]);
});

const total = 100;
const rows = Array.from({ length: total }, (_, at) =>
  resultRow({ key: `t${at}`, outcome: at % 7 === 0 ? "failed" : "done", cost_usd: at / 100, patch: at % 3 === 0 }),
);
const patchOf = (key: string) => Buffer.from(`patch of ${key}\n`);

async function writeShards(place: Place, of: number, more: Partial<ResultsHeading> = {}): Promise<string[]> {
  const tasks = rows.map(({ key }) => task(key));
  const paths = shardsOf(tasks, of).map(async (shard, at) => {
    const path = join(place.project, `shard-${at + 1}`);
    const keys = new Set(shard.map(({ key }) => key));
    const heading = {
      koda: "batch results",
      batch: `b${at + 1}`,
      list: { digest: "d", total },
      shard: { index: at + 1, of },
      tasks: shard.length,
      exit: 3,
      ...more,
    } as const;
    beginResults(path);
    await writeResults(
      path,
      heading,
      resultSet(
        rows.filter(({ key }) => keys.has(key)),
        patchOf,
      ),
    );
    return path;
  });
  return await Promise.all(paths);
}

async function rowsOf(results: { rows(): AsyncIterable<ResultRow> }): Promise<ResultRow[]> {
  return await Array.fromAsync(results.rows());
}

test("16 shards merge to what one run would have, in its order, with the patches and the exit code", async () => {
  await using place = makePlace();
  const paths = await writeShards(place, 16);
  const { results, exit, heading } = await mergeShards(paths.toReversed().map(openResults));
  const whole = resultSet(rows, patchOf);
  expect(await rowsOf(results)).toEqual(await rowsOf(whole));
  expect(results.tally).toEqual(whole.tally);
  expect(Buffer.from((await results.patch("t3")) ?? "").toString()).toBe("patch of t3\n");
  expect(await results.patch("t1")).toBeUndefined();
  expect(exit).toBe(3);
  const merged = join(place.project, "merged");
  beginResults(merged);
  await writeResults(merged, heading, results);
  expect(await rowsOf(openResults(merged))).toEqual(rows);
});

describe("a merge with tasks that are not settled exits as the shard that stopped:", () => {
  const heading = { koda: "batch results", list: { digest: "d", total: 2 }, tasks: 1 } as const;
  for (const exit of [4, 5, 130])
    test(String(exit), async () => {
      await using place = makePlace();
      const paths = [0, exit].map((own, at) => [join(place.project, `s${at + 1}`), own] as const);
      for (const [at, [path, own]] of paths.entries()) {
        const row = resultRow({ key: `t${at}`, outcome: own === 0 ? "done" : "queued" });
        beginResults(path);
        const shard = { index: at + 1, of: 2 };
        await writeResults(path, { ...heading, batch: "b", shard, exit: own }, resultSet([row], patchOf));
      }
      expect((await mergeShards(paths.map(([path]) => openResults(path)))).exit).toBe(exit);
    });
});

describe("a merge refuses", () => {
  const cases: readonly (readonly [name: string, (place: Place) => Promise<string[]>, ...parts: string[]])[] = [
    ["a missing shard", async (place) => (await writeShards(place, 4)).toSpliced(1, 1), "shard 2/4 is missing"],
    [
      "the same shard twice",
      async (place) => [...(await writeShards(place, 2)), join(place.project, "shard-1")],
      "are both shard 1/2",
      "shard-1",
    ],
    [
      "another list",
      async (place) => {
        const paths = await writeShards(place, 2);
        await Bun.write(
          join(paths[1] ?? "", "batch.json"),
          (await Bun.file(join(paths[1] ?? "", "batch.json")).text()).replace('"d"', '"e"'),
        );
        return paths;
      },
      "are of different lists",
      "shard-1",
      "shard-2",
    ],
    [
      "a task in two shards",
      async (place) => {
        const paths = await writeShards(place, 2);
        const file = join(paths[1] ?? "", "results.jsonl");
        await Bun.write(file, `${JSON.stringify(rows[0])}\n${await Bun.file(file).text()}`);
        return paths;
      },
      'task "t0" is in',
      "expected each task once",
    ],
    [
      "a shard that lost rows",
      async (place) => {
        const paths = await writeShards(place, 2);
        await Bun.write(join(paths[1] ?? "", "results.jsonl"), "");
        return paths;
      },
      'shard-2" has 0 of its 50 tasks',
    ],
    [
      "a shard that lost patches",
      async (place) => {
        const paths = await writeShards(place, 2);
        rmSync(join(paths[0] ?? "", "patches"), { recursive: true });
        return paths;
      },
      'shard-1" is missing the patch of "t0"',
    ],
    [
      "a directory that is not whole",
      async (place) => {
        const paths = await writeShards(place, 2);
        rmSync(join(paths[0] ?? "", "batch.json"));
        return paths;
      },
      "there is no batch.json in it; its koda batch run is still running or was killed: run it again",
    ],
    [
      "more shards than there can be",
      async (place) => {
        const paths = await writeShards(place, 2);
        const file = join(paths[0] ?? "", "batch.json");
        await Bun.write(file, (await Bun.file(file).text()).replace('"of": 2', '"of": 999999999'));
        return paths;
      },
      "batch.json is of another kind",
    ],
    [
      "a named pipe for the rows",
      async (place) => {
        const paths = await writeShards(place, 2);
        const file = join(paths[0] ?? "", "results.jsonl");
        rmSync(file);
        Bun.spawnSync(["mkfifo", file]);
        return paths;
      },
      "it is not a regular file",
    ],
    [
      "a key that would leave the directory",
      async (place) => {
        const paths = await writeShards(place, 1);
        await Bun.write(join(paths[0] ?? "", "results.jsonl"), JSON.stringify({ ...rows[0], key: "../../etc/passwd" }));
        return paths;
      },
      "results.jsonl:1: it is not a result of koda batch run",
    ],
  ];
  for (const [name, paths, ...parts] of cases)
    test(name, async () => {
      await using place = makePlace();
      const merging = async () => await mergeShards((await paths(place)).map(openResults));
      const error = await merging().then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error).toBeInstanceOf(KodaError);
      for (const part of parts) expect(String(error)).toContain(part);
    });
});

test.each([
  ["a named pipe", "mkfifo", "ESTALE"],
  ["larger than any of koda", "truncate --size=65M", "larger than any patch"],
  ["a link", "ln -s /etc/hostname", "ELOOP"],
])("a patch that is %s is not read", async (_, command, why) => {
  await using place = makePlace();
  const paths = await writeShards(place, 1);
  const file = join(paths[0] ?? "", "patches/t0.patch");
  Bun.spawnSync(["sh", "-c", `rm "$0" && ${command} "$0"`, file]);
  const { results } = await mergeShards(paths.map(openResults));
  await expect(results.patch("t0")).rejects.toThrow(why);
});
