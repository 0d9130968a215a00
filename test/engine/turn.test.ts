import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Event } from "../../lib/engine/event.ts";
import { KodaError } from "../../lib/errors.ts";
import type { Model } from "../../lib/model/model.ts";
import type { Gate } from "../../lib/trust/gate.ts";
import { called, openScene, prompt, said, scripted, tool } from "../support/conversation.ts";

/** Behaviour that only a caller within the process can see, such as how a run deals with a bug. */

async function all(events: AsyncIterable<Event>): Promise<Event[]> {
  return await Array.fromAsync(events);
}

test("a run ends once, and last", async () => {
  await using scene = await openScene(scripted(called("Look"), said("Done.")), { tools: [tool("Look", () => {})] });
  const events = await all(scene.events());
  expect(events.filter(({ type }) => type === "end")).toHaveLength(1);
  expect(events.at(-1)).toMatchObject({ type: "end", status: "done", text: "Done.", tools: { ok: 1 } });
});

test("a bug in a tool ends the run as internal and says where it is", async () => {
  const buggy = tool("Buggy", () => {
    throw new TypeError("undefined is not a spoon");
  });
  await using scene = await openScene(scripted(called("Buggy")), { tools: [buggy] });
  const events = await all(scene.events());
  expect(events.at(-1)).toMatchObject({ type: "end", status: "failed", exit: 70, error: { code: "internal" } });
  const notice = events.find((event) => event.type === "notice" && event.code === "internal");
  expect(notice).toMatchObject({ message: expect.stringMatching(/not a spoon[\s\S]*turn\.test\.ts/) });
});

test("a bug in a model is internal too", async () => {
  await using scene = await openScene(scripted([{ type: "text", text: "Half" }]));
  const events = await all(scene.events());
  expect(events.at(-1)).toMatchObject({ type: "end", exit: 70, text: "Half" });
});

test("a reader that leaves early closes the model's stream, and the turn has its end in the log", async () => {
  let closed = false;
  const endless: Model = async function* () {
    try {
      while (true) yield [{ type: "text", text: "word " }];
    } finally {
      closed = true;
    }
  };
  await using scene = await openScene(endless);
  const { signal } = scene.stop;
  for await (const event of scene.conversation.run({ prompt }, signal)) if (event.type === "text.delta") break;
  expect(closed).toBe(true);
  expect(scene.conversation.parts.session.items().at(-1)).toMatchObject({ kind: "turn_end", reason: "cancelled" });
});

test("the signal's reason says how a run was stopped, whatever broke because of it", async () => {
  const stop = Promise.withResolvers<AbortController>();
  const model: Model = async function* () {
    yield [{ type: "text", text: "Half" }];
    (await stop.promise).abort(new KodaError("timeout", "too long"));
    throw new KodaError("network", "the connection broke");
  };
  await using scene = await openScene(model);
  stop.resolve(scene.stop);
  const events = await all(scene.events());
  expect(events.at(-1)).toMatchObject({ status: "limit", exit: 124, text: "Half", error: { code: "timeout" } });
  const [cut] = scene.conversation.parts.session.items().filter((item) => item.kind === "assistant");
  expect(cut).toMatchObject({ finish: "cut", parts: [{ text: "Half" }] });
});

test("a call that is cut off has its end, its result and its place in the totals", async () => {
  const hanging = tool("Hang", (signal) => {
    scene.stop.abort(new KodaError("sigint", "Stopped by SIGINT"));
    throw signal.reason;
  });
  await using scene = await openScene(scripted(called("Hang")), { tools: [hanging] });
  const events = await all(scene.events());
  expect(events.filter(({ type }) => type === "tool.end")).toHaveLength(1);
  expect(events.at(-1)).toMatchObject({ exit: 130, tools: { ok: 0, failed: 1, denied: 0 } });
  const results = scene.conversation.parts.session.items().filter((item) => item.kind === "result");
  expect(results).toMatchObject([{ ok: false, parts: [{ text: "[interrupted: Stopped by SIGINT]" }] }]);
});

test("a call that ignores the signal is given up after two seconds, and is not heard of again", async () => {
  const wake = Promise.withResolvers<void>();
  const deaf = tool("Deaf", () => {
    scene.stop.abort(new KodaError("sigint", "Stopped by SIGINT"));
    return wake.promise;
  });
  const quick = tool("Quick", () => {});
  await using scene = await openScene(scripted(called("Deaf", "Quick")), { tools: [deaf, quick] });
  const started = performance.now();
  const events = await all(scene.events());
  expect(performance.now() - started).toBeWithin(1_900, 10_000);
  wake.resolve();
  const { session } = scene.conversation.parts;
  const length = session.items().length;
  await new Promise((turn) => setImmediate(turn));
  expect(session.items()).toHaveLength(length);
  for (const type of ["turn.end", "end"]) expect(events.filter((event) => event.type === type)).toHaveLength(1);
  const ends = events.flatMap((event) => (event.type === "tool.end" ? [event.summary] : []));
  expect(ends.sort()).toEqual(["[interrupted: Stopped by SIGINT]", "[interrupted: Stopped by SIGINT]\ndone"]);
  expect(events.at(-1)).toMatchObject({ type: "end", exit: 130, tools: { failed: 2 } });
});

test("a log that takes no more at the end fails the run, and the answer is not lost", async () => {
  await using scene = await openScene(scripted(said("The answer.")));
  const { session } = scene.conversation.parts;
  const events: Event[] = [];
  for await (const event of scene.events()) {
    events.push(event);
    if (event.type === "usage") session.close();
  }
  expect(events.filter(({ type }) => type === "end")).toHaveLength(1);
  expect(events.at(-1)).toMatchObject({ status: "failed", text: "The answer.", session: session.id });
});

test("all calls that run together are over before the run is", async () => {
  let over = false;
  const slow = tool("Slow", async () => {
    await new Promise((turn) => setImmediate(turn));
    over = true;
  });
  const buggy = tool("Buggy", () => {
    throw new TypeError("oops");
  });
  await using scene = await openScene(scripted(called("Buggy", "Slow")), { tools: [slow, buggy] });
  const events = await all(scene.events());
  expect(over).toBe(true);
  expect(events.at(-1)).toMatchObject({ type: "end", exit: 70 });
});

test("results are announced as they come and told to the model in the order of the calls", async () => {
  const gate = Promise.withResolvers<void>();
  const slow = tool("Slow", async () => {
    await gate.promise;
    await new Promise((turn) => setImmediate(turn));
  });
  const fast = tool("Fast", () => gate.resolve());
  await using scene = await openScene(scripted(called("Slow", "Fast"), said("ok")), { tools: [slow, fast] });
  const events = await all(scene.events());
  expect(events.filter((event) => event.type === "tool.end").map((event) => event.tool)).toEqual(["Fast", "Slow"]);
  const results = scene.conversation.parts.session.history().filter((message) => message.role === "tool");
  expect(results.map((message) => message.tool)).toEqual(["Slow", "Fast"]);
});

test("nothing is announced before it is in the log", async () => {
  await using scene = await openScene(scripted(called("Look"), said("Done.")), { tools: [tool("Look", () => {})] });
  for await (const event of scene.events()) {
    const kinds = scene.conversation.parts.session.items().map(({ kind }) => kind);
    if (event.type === "tool.end") expect(kinds).toContain("result");
    if (event.type === "text.done") expect(kinds.filter((kind) => kind === "assistant")).toHaveLength(2);
    if (event.type === "turn.end") expect(kinds.at(-1)).toBe("turn_end");
  }
});

test("a gate may ask first: the call starts after the verdict, and its question is told while it waits", async () => {
  const answer = Promise.withResolvers<void>();
  const gate = async () => {
    scene.conversation.parts.events.post({ type: "notice", level: "info", code: "question", message: "May it look?" });
    await answer.promise;
    return { allow: true } as const;
  };
  await using scene = await openScene(scripted(called("Look"), said("Done.")), {
    tools: [tool("Look", () => {})],
    gate,
  });
  const order: string[] = [];
  for await (const event of scene.events()) {
    order.push(event.type === "notice" ? event.code : event.type);
    if (event.type === "notice" && event.code === "question") answer.resolve();
  }
  expect(order.indexOf("question")).toBeLessThan(order.indexOf("tool.start"));
});

test("a gate can see the change that an Edit would make, which is not made when it denies", async () => {
  const previews: (string | undefined)[] = [];
  const gate: Gate = async ({ tool, preview }) => {
    previews.push(await preview?.());
    return tool === "Edit" ? { allow: false, rule: "not today" } : { allow: true };
  };
  const edit = { path: "a.txt", edits: [{ old: "two", new: "three" }] };
  const model = scripted(called(["Read", { path: "a.txt" }]), called(["Edit", edit]), said("Done."));
  await using scene = await openScene(model, { gate });
  const file = join(scene.place.project, "a.txt");
  writeFileSync(file, "one\ntwo\n");
  await all(scene.events());
  expect(previews).toEqual([undefined, expect.stringContaining("\n-two\n+three")]);
  expect(readFileSync(file, "utf8")).toBe("one\ntwo\n");
});
