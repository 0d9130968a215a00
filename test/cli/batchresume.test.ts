import { expect, test } from "bun:test";
import { byKey, eventsIn, idIn, keyOf, listOf, outcomesIn, runBatch, statusOf } from "../support/batch.ts";
import { binary, koda, start, using } from "../support/koda.ts";
import { call, hang, say, wait } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";
import { until } from "../support/until.ts";
import { runIn } from "../support/run.ts";

test("a batch whose process was killed is resumed, and no task is done twice", async () => {
  await using place = makePlace();
  const asked: string[] = [];
  await using server = await startModelServer((request) => {
    asked.push(keyOf(request));
    return keyOf(request) === "b" && asked.filter((key) => key === "b").length === 1 ? hang() : say("Done.");
  });
  place.write("tasks.jsonl", listOf([{ key: "a" }, { key: "b" }, { key: "c" }]));
  const child = start(place, ["batch", "run", "tasks.jsonl", "--lease", "2s", ...using(server)]);
  while (!asked.includes("b")) await server.nextRequest();
  child.kill("SIGKILL");
  await child.exited;
  const [{ id = "" } = {}] = JSON.parse((await koda(place, ["batch", "status", "--json"])).stdout) as { id?: string }[];
  const isOffered = async () => (await koda(place, ["batch", "status", id])).stdout.endsWith(` --resume ${id}\n`);
  await until(isOffered, "a status that says how to go on, once the worker was silent for its lease");
  const ran = await koda(place, ["batch", "run", "--resume", id.slice(0, 9)]);
  expect(ran.exit, ran.stderr).toBe(0);
  expect(outcomesIn(ran)).toEqual({ b: "done", c: "done" });
  expect(asked).toEqual(["a", "b", "b", "c"]);
  expect(await statusOf(place, id)).toMatchObject({ state: "over", counts: { done: 3 } });
});

test("a signal stops the children and says how to go on", async () => {
  await using place = makePlace();
  await using server = await startModelServer(byKey({ a: hang() }));
  place.write("tasks.jsonl", listOf([{ key: "a" }, { key: "b" }]));
  const child = start(place, ["batch", "run", "tasks.jsonl", ...using(server)]);
  const request = await server.nextRequest();
  child.kill("SIGINT");
  expect(await child.exited).toBe(130);
  expect(await request.ended).toBe("gone");
  const stderr = await child.stderr.text();
  const id = /koda: batch (\S{12}), /.exec(stderr)?.[1] ?? "";
  expect(stderr).toContain(`koda batch run --resume ${id}`);
  expect(await statusOf(place, id)).toMatchObject({ state: "open", counts: { queued: 2 } });
});

test("a reader that goes away stops the run, which gives its tasks back and says how to go on", async () => {
  await using place = makePlace();
  await using server = await startModelServer(byKey({ b: hang() }));
  place.write("tasks.jsonl", listOf([{ key: "a" }, { key: "b" }, { key: "c" }]));
  const program = `"$0" batch run tasks.jsonl -m scripted --base-url "$1" -j 2 | head -n 0; exit "\${PIPESTATUS[0]}"`;
  const ran = await runIn(place, ["bash", "-c", program, binary, server.url]);
  expect(ran.exit, ran.stderr).toBe(141);
  expect(ran.stderr).toContain(`koda batch run --resume ${idIn(ran)}`);
  expect((await statusOf(place, idIn(ran))).counts["running"]).toBe(0);
});

test("two processes share a batch, and each task is done once", async () => {
  await using place = makePlace();
  const asked: string[] = [];
  await using server = await startModelServer((request) => {
    asked.push(keyOf(request));
    return say("Done.");
  });
  const keys = Array.from({ length: 8 }, (_, at) => `t${at}`);
  place.write("tasks.jsonl", listOf(keys.map((key) => ({ key }))));
  const { stdout } = await koda(place, ["batch", "submit", "tasks.jsonl", ...using(server)]);
  expect(stdout).toMatch(/^[0-9a-z]{12}\n$/);
  const id = stdout.trim();
  const [one, other, watch] = await Promise.all([
    koda(place, ["batch", "run", "--resume", id]),
    koda(place, ["batch", "run", "--resume", id]),
    koda(place, ["batch", "watch", id]),
  ]);
  expect([one.exit, other.exit, watch.exit], one.stderr + other.stderr).toEqual([0, 0, 0]);
  expect(asked.toSorted()).toEqual(keys);
  for (const ran of [one, other]) expect(Object.keys(outcomesIn(ran)).toSorted()).toEqual(keys);
  const events = eventsIn(watch);
  expect(events.at(0)).toEqual({ type: "batch.start", batch: id, total: 8 });
  const ends = events.filter((event) => event.type === "task.end");
  expect(ends.map(({ key, outcome }) => `${key} ${outcome}`).toSorted()).toEqual(keys.map((key) => `${key} done`));
  expect(events.at(-1)).toMatchObject({ type: "batch.end", counts: { done: 8 }, exit: 0 });
});

test("cancel settles what is open, and retry queues it again", async () => {
  await using place = makePlace();
  const gate = Promise.withResolvers<void>();
  await using server = await startModelServer((request) =>
    keyOf(request) === "a" ? [wait(gate.promise), say("Done.")] : say("Done."),
  );
  place.write("tasks.jsonl", listOf([{ key: "a" }, { key: "b" }]));
  const child = start(place, ["batch", "run", "tasks.jsonl", "--lease", "1s", ...using(server)]);
  const request = await server.nextRequest();
  const [{ id = "" } = {}] = JSON.parse((await koda(place, ["batch", "status", "--json"])).stdout) as { id?: string }[];
  expect((await koda(place, ["batch", "cancel", id])).stdout).toBe(
    `Cancelled 1 task of ${id}; 1 still running, which will stop within 1s\n`,
  );
  expect(await child.exited).toBe(3);
  expect(await request.ended).toBe("gone");
  gate.resolve();
  expect(await statusOf(place, id)).toMatchObject({ state: "cancelled", counts: { cancelled: 2 } });
  const watched = await koda(place, ["batch", "watch", id]);
  expect(watched.exit).toBe(3);
  expect(eventsIn(watched).at(-1)).toMatchObject({ type: "batch.end", counts: { cancelled: 2 } });

  const retried = await koda(place, ["batch", "retry", id, "b"]);
  expect(retried.stdout).toStartWith(`Queued 1 task of ${id} again`);
  const ran = await koda(place, ["batch", "run", "--resume", id]);
  expect([ran.exit, outcomesIn(ran)], ran.stderr).toEqual([3, { b: "done" }]);
  expect((await koda(place, ["batch", "retry", id, "z"])).exit).toBe(2);
});

test("a task that was out of turns goes on where it was", async () => {
  await using place = makePlace({ "x.txt": "x" });
  await using server = await startModelServer([call("Read", { path: "x.txt" }), say("Done.")]);
  const ran = await runBatch(place, server, [{ key: "a", options: { "max-turns": 1 } }]);
  expect(ran.exit).toBe(5);
  expect(ran.stderr).toContain(`koda batch retry ${idIn(ran)} --limits`);
  expect((await koda(place, ["batch", "retry", idIn(ran), "--limits"])).exit).toBe(0);
  const resumed = await koda(place, ["batch", "run", "--resume", idIn(ran)]);
  expect([resumed.exit, outcomesIn(resumed)], resumed.stderr).toEqual([0, { a: "done" }]);
  expect(server.problems).toEqual([]);
});

test("a signal ends a watch, and nothing else", async () => {
  await using place = makePlace();
  place.write("tasks.jsonl", listOf([{ key: "a" }]));
  const id = (await koda(place, ["batch", "submit", "tasks.jsonl", "-m", "demo"])).stdout.trim();
  const child = start(place, ["batch", "watch", id]);
  const { value } = await child.stdout.getReader().read();
  expect(JSON.parse(new TextDecoder().decode(value))).toEqual({ type: "batch.start", batch: id, total: 1 });
  child.kill("SIGTERM");
  expect(await child.exited).toBe(143);
  expect(await statusOf(place, id)).toMatchObject({ state: "open", counts: { queued: 1 } });
});
