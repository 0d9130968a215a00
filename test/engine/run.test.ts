import { expect, test } from "bun:test";
import type { Changes } from "../../lib/engine/changes.ts";
import type { Engine, Start } from "../../lib/engine/engine.ts";
import type { Event } from "../../lib/engine/event.ts";
import { openLedger } from "../../lib/engine/ledger.ts";
import { Reached } from "../../lib/engine/reached.ts";
import { run } from "../../lib/engine/run.ts";
import { KodaError } from "../../lib/errors.ts";
import type { Model, ModelEvent } from "../../lib/model/model.ts";
import { openStore } from "../../lib/session/store.ts";
import { succeeded, type Tool } from "../../lib/tools/tool.ts";

/** What only a caller within the process can see: how a run stops, and what it makes of a bug. */
const unwatched: Changes = {
  files: 0,
  watch: () => Promise.resolve(),
  collect: () => Promise.resolve([]),
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

const usage = { input: 1, cached: 0, output: 1, reasoning: 0 };
const said = (text: string): ModelEvent[] => [
  { type: "text", text },
  { type: "end", reason: "stop", usage },
];
const called = (tool: string): ModelEvent[] => [
  { type: "call", call: { type: "call", id: tool, tool, arguments: "{}" } },
  { type: "end", reason: "calls", usage },
];

function scripted(...replies: (readonly ModelEvent[])[]): Model {
  let next = 0;
  return async function* () {
    yield replies[next++] ?? [];
  };
}

function tool(name: string, body: () => Promise<void> | void): Tool {
  const input = { type: "object" };
  const claim = () => ({ effect: "read" as const, writes: [] });
  return { name, about: "", input, claim, run: async () => (await body(), succeeded("done")) };
}

function engineWith(model: Model, tools: readonly Tool[] = []): Engine {
  const store = openStore(":memory:");
  const session = store.create({ cwd: "/project", model: "m", provider: "p", mode: "auto" });
  return {
    model,
    info: { provider: "p", name: "m", wire: "chat", contextWindow: 1000, images: false },
    system: "",
    tools,
    gate: () => ({ allow: true }),
    ledger: openLedger({ maxTurns: 10 }),
    session,
    environment: undefined,
    // These tools use nothing of it but the list of work.
    context: { todo: session.todo } as unknown as Engine["context"],
    changes: unwatched,
    repositories: { before: async () => {}, after: async () => [], last: async () => [] },
    notices: [],
    reached: new Reached(undefined, () => {}),
    keyWatch: () => undefined,
    failOn: [],
    heard: () => {},
  };
}

const start = {} as Start;
const prompt = [{ type: "text" as const, text: "hi" }];

function runWith(engine: Engine, signal = new AbortController().signal) {
  return run(prompt, { engine, opening: { start, startedAt: 0, resume: null } }, signal);
}

async function all(events: AsyncIterable<Event>): Promise<Event[]> {
  return await Array.fromAsync(events);
}

test("a run ends once, and last", async () => {
  const events = await all(runWith(engineWith(scripted(called("Look"), said("Done.")), [tool("Look", () => {})])));
  expect(events.filter(({ type }) => type === "end")).toHaveLength(1);
  expect(events.at(-1)).toMatchObject({ type: "end", status: "done", text: "Done.", tools: { ok: 1 } });
});

test("a bug in a tool ends the run as internal and says where it is", async () => {
  const buggy = tool("Buggy", () => {
    throw new TypeError("undefined is not a spoon");
  });
  const events = await all(runWith(engineWith(scripted(called("Buggy")), [buggy])));
  expect(events.at(-1)).toMatchObject({ type: "end", status: "failed", exit: 70, error: { code: "internal" } });
  const notice = events.find((event) => event.type === "notice");
  expect(notice?.message).toContain("not a spoon");
  expect(notice?.message).toContain("run.test.ts");
});

test("a bug in a model is internal too", async () => {
  const events = await all(runWith(engineWith(scripted([{ type: "text", text: "Half" }]))));
  expect(events.at(-1)).toMatchObject({ type: "end", exit: 70, text: "Half" });
});

test("a reader that leaves early closes the model's stream", async () => {
  let closed = false;
  const endless: Model = async function* () {
    try {
      while (true) yield [{ type: "text", text: "word " }];
    } finally {
      closed = true;
    }
  };
  for await (const event of runWith(engineWith(endless))) if (event.type === "text.delta") break;
  expect(closed).toBe(true);
});

test("the signal's reason says how a run was stopped, whatever broke because of it", async () => {
  const stop = new AbortController();
  const model: Model = async function* () {
    yield [{ type: "text", text: "Half" }];
    stop.abort(new KodaError("timeout", "too long"));
    throw new KodaError("network", "the connection broke");
  };
  const events = await all(runWith(engineWith(model), stop.signal));
  expect(events.at(-1)).toMatchObject({ status: "limit", exit: 124, text: "Half", error: { code: "timeout" } });
});

test("a call that is cut off has its end, its result and its place in the totals", async () => {
  const stop = new AbortController();
  const hanging = tool("Hang", () => {
    stop.abort(new KodaError("sigint", "Stopped by SIGINT"));
    throw stop.signal.reason;
  });
  const engine = engineWith(scripted(called("Hang")), [hanging]);
  const events = await all(runWith(engine, stop.signal));
  expect(events.filter(({ type }) => type === "tool.end")).toHaveLength(1);
  expect(events.at(-1)).toMatchObject({ exit: 130, tools: { ok: 0, failed: 1, denied: 0 } });
  const results = engine.session.items().filter((item) => item.kind === "result");
  expect(results).toMatchObject([{ ok: false, parts: [{ text: "[interrupted: Stopped by SIGINT]" }] }]);
});

test("a log that takes no more at the end fails the run, and the answer is not lost", async () => {
  const engine = engineWith(scripted(said("The answer.")));
  const events: Event[] = [];
  for await (const event of runWith(engine)) {
    events.push(event);
    if (event.type === "usage") engine.session.close();
  }
  expect(events.filter(({ type }) => type === "end")).toHaveLength(1);
  expect(events.at(-1)).toMatchObject({ status: "failed", text: "The answer.", session: engine.session.id });
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
  const both = [...called("Buggy").slice(0, 1), ...called("Slow")];
  const events = await all(runWith(engineWith(scripted(both), [slow, buggy])));
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
  const engine = engineWith(scripted([...called("Slow").slice(0, 1), ...called("Fast")], said("ok")), [slow, fast]);
  const events = await all(runWith(engine));
  expect(events.filter((event) => event.type === "tool.end").map(({ tool }) => tool)).toEqual(["Fast", "Slow"]);
  const told = engine.session.history().flatMap((message) => (message.role === "tool" ? [message.tool] : []));
  expect(told).toEqual(["Slow", "Fast"]);
});

test("nothing is announced before it is in the log", async () => {
  const engine = engineWith(scripted(called("Look"), said("Done.")), [tool("Look", () => {})]);
  for await (const event of runWith(engine)) {
    const kinds = engine.session.items().map(({ kind }) => kind);
    if (event.type === "tool.end") expect(kinds).toContain("result");
    if (event.type === "text.done") expect(kinds.filter((kind) => kind === "assistant")).toHaveLength(2);
    if (event.type === "turn.end") expect(kinds.at(-1)).toBe("turn_end");
  }
});
