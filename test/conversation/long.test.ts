import { expect, test } from "bun:test";
import type { Event } from "../../lib/engine/event.ts";
import { type Message, textOf } from "../../lib/model/message.ts";
import type { Model, ModelEvent, ModelRequest } from "../../lib/model/model.ts";
import { recallTool } from "../../lib/tools/recall.ts";
import { todoTool } from "../../lib/tools/todo.ts";
import { succeeded, type Tool } from "../../lib/tools/tool.ts";
import { called, openScene, said } from "../support/conversation.ts";
import { facts } from "../support/sessions.ts";

const window = 32_000;
const turns = 300;
const callsPerTurn = 4;
/** About 4,200 tokens: with four calls a turn five million in all. */
const linesPerResult = 300;

const dump: Tool = {
  name: "Dump",
  about: "Prints a lot.",
  input: { type: "object" },
  claim: () => ({ effect: "read", writes: [] }),
  run: async (input) =>
    succeeded(
      `${JSON.stringify(input)}\n${"fifty bytes of output that nobody will read again\n".repeat(linesPerResult)}`,
    ),
};

const isSummary = ({ messages }: ModelRequest) =>
  textOf(messages.at(-1) ?? { role: "user", parts: [] }).startsWith("The conversation is about to outgrow");
const sizeOf = (request: ModelRequest) =>
  JSON.stringify([request.system, request.messages, request.tools]).length / 3.5;

/** Answers each turn after one reply with calls, in the last turn by what it looks up. */
function worker(seen: ModelRequest[]): Model {
  let turn = 0;
  return async function* (request) {
    seen.push(request);
    const input = Math.ceil(sizeOf(request));
    yield replyTo(request.messages).map((event) =>
      event.type === "end" ? { ...event, usage: { ...event.usage, input } } : event,
    );
    function replyTo(messages: readonly Message[]): readonly ModelEvent[] {
      if (isSummary(request)) return said(`Summary before turn ${turn}.`);
      const last = messages.at(-1);
      // The todo list is never done.
      if (last?.role === "user" && textOf(last).startsWith("Go on")) return said("The rest is for later.");
      if (last?.role === "user") turn++;
      if (last?.role === "tool" && last.tool === "RecallContext") return said(textOf(last));
      if (last?.role === "tool") return said(turn === 3 ? "The number is marzipan." : `Turn ${turn} is done.`);
      if (turn === 1) return called(["TodoWrite", { items: [{ text: "keep going", status: "in_progress" }] }]);
      if (turn === turns) return called(["RecallContext", { query: "the number is" }]);
      return called(...Array.from({ length: callsPerTurn }, (_, n) => ["Dump", { turn, n }, `c${turn}-${n}`] as const));
    }
  };
}

test("a conversation of 300 turns and five million tokens stays within its window and forgets nothing", async () => {
  const seen: ModelRequest[] = [];
  const environment = { kind: "environment" as const, text: "AGENTS.md: say aye", facts };
  const tools = [dump, todoTool, recallTool];
  await using scene = await openScene(worker(seen), { tools, contextWindow: window, environment, maxTurns: 2_000 });
  const { conversation } = scene;
  const compactions: Event[] = [];
  let answer = "";
  for (let turn = 1; turn <= turns; turn++) {
    const prompt = [{ type: "text" as const, text: turn === 1 ? "The first prompt." : `Prompt ${turn}` }];
    const events = conversation.run({ prompt }, scene.stop.signal);
    while (true) {
      const { done, value } = await events.next();
      if (done) {
        expect(value.status).toBe("done");
        answer = value.text;
        break;
      }
      if (value.type === "compact") compactions.push(value);
    }
  }

  expect(answer).toContain("marzipan");
  expect(seen.filter((request) => sizeOf(request) > window)).toHaveLength(0);
  expect(compactions.length).toBeGreaterThan(100);
  for (const [index, request] of seen.entries()) {
    const next = seen[index + 1];
    if (next === undefined) break;
    const text = JSON.stringify(next.messages);
    if (isSummary(request))
      for (const kept of ["AGENTS.md: say aye", "The first prompt.", "[in_progress] keep going"])
        expect(text).toContain(kept);
    else if (!isSummary(next)) expect(text.startsWith(JSON.stringify(request.messages).slice(0, -1))).toBe(true);
  }
}, 120_000);
