import { expect, test } from "bun:test";
import { join } from "node:path";
import type { Event } from "../../lib/engine/event.ts";
import { KodaError } from "../../lib/errors.ts";
import type { Tool } from "../../lib/tools/tool.ts";
import { called, openScene, said, scripted, tool } from "../support/conversation.ts";

/** A tool that writes the file that its call names, in steps that `done` lists: two calls that overlap take turns. */
function writer(done: string[]): Tool {
  const base = tool("Mark", () => {});
  return {
    ...base,
    claim: ({ path }: { path: string }) => ({ effect: "write", writes: [join("/project", path)] }),
    async run({ name }: { name: string }, context) {
      for (const step of ["begins", "goes on", "ends"]) {
        done.push(`${name} ${step}`);
        await new Promise((turn) => setImmediate(turn));
      }
      return await base.run({} as never, context);
    },
  };
}

const mark = (path: string, name: string) => ["Mark", { path, name }] as const;
const startsOf = (events: readonly Event[]) =>
  events.flatMap((event) => (event.type === "tool.start" ? [event.id] : []));
const endsOf = (events: readonly Event[]) => events.flatMap((event) => (event.type === "tool.end" ? [event] : []));

test("calls that write one file run one after another, and those of different files together", async () => {
  const done: string[] = [];
  const model = scripted(called(mark("a", "1"), mark("b", "2"), mark("a", "3")), said("ok"));
  await using scene = await openScene(model, { tools: [writer(done)] });
  await Array.fromAsync(scene.events());
  expect(done).toEqual([
    ...["begins", "goes on", "ends"].flatMap((step) => [`1 ${step}`, `2 ${step}`]),
    ...["begins", "goes on", "ends"].map((step) => `3 ${step}`),
  ]);
});

test("a call with a mistake never reaches the gate or its tool, and the calls beside it run", async () => {
  const asked: string[] = [];
  let runs = 0;
  const strict: Tool = {
    ...tool("Strict", () => runs++),
    input: { type: "object", properties: { n: { type: "integer" } }, required: ["n"], additionalProperties: false },
  };
  const calls = called(["Strict", { n: "one" }], "Strikt", ["Strict", { n: 1 }]);
  await using scene = await openScene(scripted(calls, said("ok")), {
    tools: [strict],
    gate: async ({ id, input }) => {
      asked.push(`${id} ${JSON.stringify(input)}`);
      return { allow: true };
    },
  });
  const events = await Array.fromAsync(scene.events());
  expect(asked).toEqual(['call_3 {"n":1}']);
  expect(runs).toBe(1);
  expect(startsOf(events).toSorted()).toEqual(["call_1", "call_2", "call_3"]);
  const summaries = Object.fromEntries(endsOf(events).map(({ id, ok, summary }) => [id, `${ok} ${summary}`]));
  expect(summaries).toEqual({
    call_1: expect.stringContaining("false The arguments of Strict do not match its schema:"),
    call_2: 'false Unknown tool "Strikt" (did you mean Strict?). The tools are: Strict',
    call_3: "true done",
  });
});

test("calls that wait for others are not begun when the turn is stopped, and the history has a result for each", async () => {
  const done: string[] = [];
  const stopping: Tool = {
    ...writer(done),
    async run(_, { signal }) {
      done.push("stop");
      scene.stop.abort(new KodaError("sigint", "Stopped by SIGINT"));
      throw signal.reason;
    },
  };
  const model = scripted(called(mark("a", "1"), mark("a", "2")));
  await using scene = await openScene(model, { tools: [stopping] });
  const events = await Array.fromAsync(scene.events());
  expect(done).toEqual(["stop"]);
  expect(startsOf(events)).toEqual(["call_1"]);
  const results = scene.conversation.parts.session.history().filter((message) => message.role === "tool");
  expect(results.map(({ call, parts }) => [call, parts])).toEqual([
    ["call_1", [{ type: "text", text: "[interrupted: Stopped by SIGINT]" }]],
    ["call_2", [{ type: "text", text: "[interrupted: no result was recorded]" }]],
  ]);
});

test("a denied call is not run, and the model reads the rule", async () => {
  let runs = 0;
  await using scene = await openScene(scripted(called("Look"), said("ok")), {
    tools: [tool("Look", () => runs++)],
    gate: async () => ({ allow: false, rule: "not on Sundays" }),
  });
  const events = await Array.fromAsync(scene.events());
  expect(runs).toBe(0);
  expect(endsOf(events)).toMatchObject([{ ok: false, denied: "not on Sundays" }]);
  expect(JSON.stringify(scene.conversation.parts.session.history())).toContain("not on Sundays");
  expect(events.at(-1)).toMatchObject({ tools: { ok: 0, failed: 0, denied: 1 } });
});

test("what a command left for git to run is told to people at once and to the model before its next reply", async () => {
  const command = "git init -q sub && git -C sub config core.fsmonitor ./x";
  await using scene = await openScene(scripted(called(["Bash", { command }]), said("ok")), { sandboxed: true });
  const events = await Array.fromAsync(scene.events());
  const told = events.flatMap((event) =>
    event.type === "notice" && event.message.includes("sub/.git") ? [event] : [],
  );
  expect(told).toMatchObject([{ level: "warn" }]);
  const kinds = scene.conversation.parts.session.items().map(({ kind }) => kind);
  expect(kinds.slice(kinds.indexOf("result"))).toEqual(["result", "note", "assistant", "turn_end"]);
  expect(JSON.stringify(scene.conversation.parts.session.history())).toContain(
    JSON.stringify(told[0]?.message).slice(1, -1),
  );
});

test("calls that may not write now, because another run does, fail, and the turn goes on", async () => {
  const done: string[] = [];
  let waits = 0;
  const before = async () => {
    if (++waits === 1) throw new KodaError("busy", "Another koda run is running commands", { retryable: true });
  };
  const calls = called(mark("a", "1"), mark("b", "2"));
  const model = scripted(calls, called(mark("a", "3")), said("ok"));
  await using scene = await openScene(model, { tools: [writer(done)], before });
  const events = await Array.fromAsync(scene.events());
  expect(endsOf(events).map(({ ok }) => ok)).toEqual([false, false, true]);
  expect(endsOf(events)[0]?.summary).toContain("Another koda run");
  expect(done).toEqual(["3 begins", "3 goes on", "3 ends"]);
  expect(events.findLast(({ type }) => type === "turn.end")).toMatchObject({ reason: "complete" });
});
