import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { KodaError } from "../../lib/errors.ts";
import type { BatchSettings, Checkpoint, TaskClaim } from "../../lib/fleet/store.ts";
import { batches, git, makeRepository, openStoreOf, resultsOf, submit, taskOf } from "../support/fleetplace.ts";
import { workAt } from "../support/machine.ts";
import { call, say, silence } from "../support/model-reply.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { makePlace, type Place } from "../support/place.ts";

/** A task that has come to its third request on one machine, when that is told to stop; and the store, which is there. */
async function cutOff(
  settings: Partial<BatchSettings>,
  meanwhile: (place: Place, repo: string) => void = () => {},
  checkpointMs?: number | undefined,
) {
  const place = makePlace();
  const repo = makeRepository(place, { "a.txt": "one\n", "bin.dat": new Uint8Array([0, 1, 2, 255]) });
  const secret = "s3cret-value-of-a-variable";
  const answers = [
    call("Bash", { command: `printf 'a\\0\\377' > bin.dat; echo two >> a.txt; echo new > new.txt; echo ${secret}` }),
    [say("So far "), silence()],
    say("Done elsewhere."),
  ];
  const server = await startModelServer((_, index) => answers[index] ?? say("Done again."));
  const store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a", repo, ref: "main" })], settings);
  const stop = new AbortController();
  const running = workAt(place, store, { batch, signal: stop.signal, env: { MY_TOKEN: secret }, checkpointMs });
  await server.nextRequest();
  await server.nextRequest();
  stop.abort(new KodaError("sigterm", "Stopped by SIGTERM"));
  const first = await running;
  meanwhile(place, repo);
  return { place, server, store, batch, first, secret, [Symbol.asyncDispose]: () => closed(place, server) };
}

async function closed(place: Place, server: ModelServer): Promise<void> {
  await server.close();
  await place[Symbol.asyncDispose]();
}

for (const [name, checkpointMs] of [
  ["its last state", undefined],
  ["several checkpoints", 0],
] as const)
  test(`another machine goes on with the session and the changed files, from ${name}`, async () => {
    await using begun = await cutOff({}, undefined, checkpointMs);
    await using other = makePlace();
    const { store, batch, server } = begun;
    expect(begun.first.end).toEqual({ why: "Stopped by SIGTERM", exit: 143 });

    const { events, end } = await workAt(other, store, { batch, keepTrees: true });
    expect(end.exit).toBe(0);
    expect(events.filter(({ type }) => type === "task.note")).toEqual([]);
    expect(server.requests).toHaveLength(3);
    expect(server.problems).toEqual([]);
    // The prompt is there once, and what was done after it.
    expect(server.requests[2]?.lines.filter(({ text }) => text.includes("Do a"))).toHaveLength(1);
    expect(server.requests[2]?.raw).toContain("new.txt");
    const { a } = await resultsOf(store, batch);
    expect(a).toMatchObject({ state: "done", session: `${batch}.a`, result: { text: "Done elsewhere." } });

    const tree = join(batches(other), batch, "a");
    expect(readFileSync(join(tree, "a.txt"), "utf8")).toBe("one\ntwo\n");
    expect([...readFileSync(join(tree, "bin.dat"))]).toEqual([97, 0, 255]);
    const patch = await store.patch(batch, "a");
    const applied = makeRepository(other, { "a.txt": "one\n", "bin.dat": new Uint8Array([0, 1, 2, 255]) }, "applied");
    await Bun.write(join(other.project, "a.patch"), patch ?? "");
    git(other, applied, "apply", join(other.project, "a.patch"));
    expect(readFileSync(join(applied, "new.txt"), "utf8")).toBe("new\n");
    expect([...readFileSync(join(applied, "bin.dat"))]).toEqual([97, 0, 255]);
  });

test("it goes on from the commit that the task began with, though the branch has moved", async () => {
  await using begun = await cutOff({}, (place, repo) => {
    Bun.write(join(repo, "a.txt"), "changed\n");
    git(place, repo, "commit", "--quiet", "--all", "--message=second");
  });
  await using other = makePlace();
  const { events } = await workAt(other, begun.store, { batch: begun.batch });
  expect(events.filter(({ type }) => type === "task.note")).toEqual([]);
  expect(begun.server.requests).toHaveLength(3);
  const patch = new TextDecoder().decode(await begun.store.patch(begun.batch, "a"));
  expect(patch).toContain(" one\n+two\n");
});

test("the task starts over, and says so, when the commit is gone", async () => {
  await using begun = await cutOff({}, (place, repo) => {
    git(place, repo, "commit", "--quiet", "--amend", "--message=other");
    git(place, repo, "reflog", "expire", "--expire=now", "--all");
    git(place, repo, "gc", "--quiet", "--prune=now");
  });
  await using other = makePlace();
  const { events } = await workAt(other, begun.store, { batch: begun.batch });
  const note = events.find((event) => event.type === "task.note");
  expect(note?.message).toStartWith("Cannot continue the earlier attempt, so the task starts over: ");
  expect((await resultsOf(begun.store, begun.batch)).a).toMatchObject({ state: "done" });
});

for (const [name, change] of [
  ["its schema is another one", (each: Checkpoint) => ({ ...each, version: each.version + 1 })],
  ["its patch does not apply", (each: Checkpoint) => ({ ...each, patch: withoutContext(each.patch) })],
  ["its log cannot be read", (each: Checkpoint) => ({ ...each, items: each.items.slice(1) })],
] as const)
  test(`the task starts over, and says so, when ${name}`, async () => {
    await using begun = await cutOff({});
    await using other = makePlace();
    const store = new Proxy(begun.store, {
      get(target, method) {
        if (method === "checkpoints") return async (claim: TaskClaim) => (await target.checkpoints(claim)).map(change);
        return Reflect.get(target, method).bind(target);
      },
    });
    const { events } = await workAt(other, store, { batch: begun.batch });
    const notes = events.filter((event) => event.type === "task.note");
    expect(notes.map(({ message }) => message)).toEqual([
      expect.stringContaining("Cannot continue the earlier attempt, so the task starts over: "),
    ]);
    const { a } = await resultsOf(begun.store, begun.batch);
    expect(a).toMatchObject({ state: "done", result: { text: "Done elsewhere." } });
    expect(begun.server.requests[2]?.lines.filter(({ text }) => text.includes("new.txt"))).toEqual([]);
  });

function withoutContext(patch: Uint8Array): Uint8Array {
  return Buffer.from(Buffer.from(patch).toString("latin1").replace("\n one\n", "\n two\n"), "latin1");
}

test("what is stored has no values of secret variables, and without transcripts nothing is", async () => {
  await using redacted = await cutOff({});
  const [claim] = await redacted.store.batches(expect.unreachable);
  expect(claim?.id).toBe(redacted.batch);
  await using other = makePlace();
  await workAt(other, redacted.store, { batch: redacted.batch });
  expect(redacted.server.requests[1]?.raw).toContain(redacted.secret);
  expect(redacted.server.requests[2]?.raw).not.toContain(redacted.secret);
  expect(redacted.server.requests[2]?.raw).toContain("[key]");

  await using without = await cutOff({ transcripts: "none" });
  await using third = makePlace();
  const { events } = await workAt(third, without.store, { batch: without.batch });
  expect(events.filter(({ type }) => type === "task.note")).toEqual([]);
  const { a } = await resultsOf(without.store, without.batch);
  expect(a).toMatchObject({ state: "done" });
  expect(a?.result).not.toHaveProperty("text");
  expect(without.server.requests[2]?.raw).not.toContain("new.txt");
});

for (const [transcripts, output] of [
  ["full", { "[key]": "[key]", key_findings: [] }],
  ["redacted", { "[key]": "[key]", key_findings: [] }],
  ["none", undefined],
] as const)
  test(`an answer for a schema is stored as transcripts that are ${transcripts}`, async () => {
    await using place = makePlace();
    const secret = "s3cret-value-of-a-variable";
    await using server = await startModelServer([say(JSON.stringify({ [secret]: secret, key_findings: [] }))]);
    await using store = openStoreOf(place);
    const schema = { type: "object" };
    const batch = await submit(store, [taskOf(server, { key: "a", schema })], { transcripts });
    await workAt(place, store, { batch, env: { MY_TOKEN: secret } });
    const { a } = await resultsOf(store, batch);
    expect(a).toMatchObject({ state: "done" });
    expect(a?.result?.output).toEqual(output);
  });

for (const [args, input, code, message] of [
  [["--finish=required"], { status: "blocked", summary: "words" }, "blocked", "The task is blocked"],
  [[], undefined, "schema", "The answer does not match the schema"],
] as const)
  test(`without transcripts the reason "${code}" has no words of the model`, async () => {
    await using place = makePlace();
    await using server = await startModelServer(() => (input ? call("Finish", input) : say('"words"')));
    await using store = openStoreOf(place);
    const schema = input ? {} : { schema: { enum: ["a"] } };
    const batch = await submit(store, [taskOf(server, { key: "a", args: [...args], ...schema })], {
      transcripts: "none",
    });
    await workAt(place, store, { batch });
    const { a } = await resultsOf(store, batch);
    expect([a?.attempts[0]?.error, a?.result?.error]).toEqual([
      { code, message },
      { code, message },
    ]);
  });

test("without transcripts a doubt about an answer does not quote it", async () => {
  await using place = makePlace();
  await using server = await startModelServer(() => say("These are the words:"));
  await using store = openStoreOf(place);
  const batch = await submit(store, [taskOf(server, { key: "a" })], { transcripts: "none" });
  await workAt(place, store, { batch });
  const { a } = await resultsOf(store, batch);
  expect(a?.result?.["incomplete"]).toEqual(["the answer ends in a colon"]);
});
