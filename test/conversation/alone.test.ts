import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { waitToBeAlone } from "../../lib/conversation/workspace/alone.ts";
import { makePlace } from "../support/place.ts";

const never = new AbortController().signal;
const isTaken = { name: "TimeoutError" };

test("runs whose writable roots overlap are alone one after the other, and others do not wait", async () => {
  await using place = makePlace();
  const { project, home } = place;
  const tried = (root: string) => waitToBeAlone(home, [root], AbortSignal.timeout(200));
  const first = await waitToBeAlone(home, [project], never);
  for (const root of [project, join(project, "sub"), "/"]) await expect(tried(root)).rejects.toMatchObject(isTaken);
  for (const root of [`${project}-two`, "/elsewhere"]) (await tried(root))[Symbol.dispose]();
  const impatient = waitToBeAlone(home, [project], never, { patienceMs: 1 });
  await expect(impatient).rejects.toMatchObject({ code: "busy", retryable: true });
  const second = waitToBeAlone(home, [join(project, "sub")], never);
  first[Symbol.dispose]();
  (await second)[Symbol.dispose]();
  expect(readdirSync(home)).toEqual([]);
});

test("what a killed run left keeps no other waiting", async () => {
  await using place = makePlace();
  mkdirSync(join(place.home, "state"));
  const left = ["left", "other"].map((name) => join(place.home, `state/koda-alone-${name}`));
  for (const [index, path] of left.entries())
    writeFileSync(path, JSON.stringify([[place.project, "/elsewhere"][index]]));
  using _alone = await waitToBeAlone(join(place.home, "state"), [place.project], AbortSignal.timeout(10_000));
  expect(left.filter((path) => existsSync(path))).toEqual([]);
});

test("of many at a time each is alone once", async () => {
  await using place = makePlace();
  let running = 0;
  const most = await Promise.all(
    Array.from({ length: 8 }, async () => {
      using _alone = await waitToBeAlone(place.home, [place.project], never);
      running++;
      await new Promise((resolve) => setImmediate(resolve));
      return running--;
    }),
  );
  expect(most).toEqual(Array(8).fill(1));
});
