import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { openLocalFleet } from "../../lib/fleet/local/local.ts";
import { rowOf } from "../../lib/fleet/results/row.ts";
import { defaults, exit, isClaim, resultsOf, task, worker } from "../support/fleettasks.ts";
import { makePlace } from "../support/place.ts";

for (const [name, stored, why] of [
  ["is no JSON", '{"key":', "Unexpected EOF"],
  ["lacks its prompt", '{"key":"bad"}', "prompt: "],
  ["has a field of a newer koda", JSON.stringify({ ...task("bad"), priority: 3 }), '"priority"'],
] as const)
  test(`a task in the store that ${name} is poison, and the others go on`, async () => {
    await using place = makePlace();
    const path = `${place.home}/koda.db`;
    await using store = openLocalFleet(path);
    await store.submit("b", defaults, [task("bad"), task("good"), task("next", { after: ["bad"] })]);
    using database = new Database(path);
    database.run("UPDATE batch_task SET task = ? WHERE key = 'bad'", [stored]);

    const claim = await store.claim(worker(), "b");
    if (!isClaim(claim)) throw new Error("nothing to claim");
    expect(claim.task.key).toBe("good");
    await store.end(claim, exit(0));
    expect(await store.claim(worker(), "b")).toEqual({ isOver: true });
    const results = await resultsOf(store, "b");
    expect(results.map(({ key, state }) => [key, state])).toEqual([
      ["bad", "poison"],
      ["good", "done"],
      ["next", "skipped"],
    ]);
    const { error } = rowOf(results[0] ?? expect.unreachable());
    expect(error).toEqual({
      code: "store",
      message: expect.stringMatching(/^Cannot read task "bad" of batch b in the store: .* Submit it again, /),
    });
    expect(error?.message).toContain(why);
    expect(await store.retry("b", { outcomes: ["poison"] })).toBe(2);
    expect(await store.claim(worker(), "b")).toEqual({ isOver: true });
  });

test("results of a newer koda can be read", async () => {
  await using place = makePlace();
  const path = `${place.home}/koda.db`;
  await using store = openLocalFleet(path);
  await store.submit("b", defaults, [task("a")]);
  const claim = await store.claim(worker(), "b");
  if (!isClaim(claim)) throw new Error("nothing to claim");
  await store.end(claim, { ...exit(3), session: "s", error: { code: "x", message: "y" } });
  using database = new Database(path);
  database.run("UPDATE batch_task SET ending = json_set(ending, '$.newer', 1)");
  database.run("UPDATE batch_attempt SET error = json_set(error, '$.newer', 1)");
  const [result] = await resultsOf(store, "b");
  expect(result).toMatchObject({ session: "s", attempts: [{ error: { code: "x", message: "y" } }] });
});

test("a result that the store has damaged hides no others, and its task can be done again", async () => {
  await using place = makePlace();
  const path = `${place.home}/koda.db`;
  await using store = openLocalFleet(path);
  await store.submit("b", { ...defaults, keepGoing: true }, [task("bad"), task("good")]);
  for (let number = 0; number < 2; number++) {
    const claim = await store.claim(worker(), "b");
    if (isClaim(claim)) await store.end(claim, { ...exit(3), session: "s", error: { code: "x", message: "y" } });
  }
  using database = new Database(path);
  database.run("UPDATE batch_task SET ending = '{' WHERE key = 'bad'");
  database.run("UPDATE batch_attempt SET error = '[]' WHERE key = 'bad'");
  const [bad, good] = await resultsOf(store, "b");
  expect([good?.session, good?.attempts[0]?.error]).toEqual(["s", { code: "x", message: "y" }]);
  expect([bad?.session, bad?.attempts[0]?.error?.code]).toEqual([undefined, "store"]);
  expect(await store.retry("b", { outcomes: ["failed"], keys: ["bad"] })).toBe(1);
  expect(await store.claim(worker(), "b")).toMatchObject({ task: { key: "bad" } });
});

test("a worker leaves a batch alone whose id leads out of the directory of work trees", async () => {
  await using place = makePlace();
  const path = `${place.home}/koda.db`;
  await using store = openLocalFleet(path);
  await store.submit("../b", defaults, [task("a")]);
  expect(await store.claim(worker())).toEqual({ isOver: true });
  await expect(store.overview("../b")).rejects.toThrow(/^Cannot read batch "..\/b" in the store: its id is not one/);
});

test("a worker leaves a batch alone whose settings it does not know, and does the others", async () => {
  await using place = makePlace();
  const path = `${place.home}/koda.db`;
  await using store = openLocalFleet(path);
  for (const batch of ["newer", "own"]) await store.submit(batch, defaults, [task("a")]);
  using database = new Database(path);
  database.run("UPDATE batch SET settings = json_set(settings, '$.pace', 1) WHERE id = 'newer'");
  const claim = await store.claim(worker());
  expect(claim).toMatchObject({ batch: "own" });
  if (isClaim(claim)) await store.end(claim, exit(0));
  expect(await store.claim(worker())).toEqual({ isOver: true });
  const problem = /^Cannot read batch "newer" in the store: .*"pace".* Update koda if a newer one has submitted it\.$/;
  await expect(store.overview("newer")).rejects.toThrow(problem);
  const problems: string[] = [];
  expect((await store.batches((message) => problems.push(message))).map(({ id }) => id)).toEqual(["own"]);
  expect(problems).toEqual([expect.stringMatching(problem)]);
});
