import { describe, expect, test } from "bun:test";
import type { ModelEvent } from "../../lib/model/model.ts";
import { exec } from "../support/koda.ts";
import { connectTo, converse } from "../support/model-connection.ts";
import { cut, type Entry, framesIn, raw, say, shred } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";
import { seeded } from "../support/random.ts";
import {
  framesBeforeTerminal,
  framesSent,
  type RecordedReply,
  recordedReplies,
  repeatedArguments,
} from "../support/recorded.ts";
import { figure, figures, type Figures } from "../support/recorded-figures.ts";
import { sharedData } from "../support/shareddata.ts";

const streams = sharedData("streams");
const recorded = streams === undefined ? [] : recordedReplies(streams);
const sent = (reply: RecordedReply): Entry => raw(framesSent(reply));

test.skipIf(streams === undefined)("every recorded reply in ../shared/data/streams has its figures", () => {
  expect(recorded.map(({ name }) => name).sort()).toEqual(Object.keys(figures).sort());
});

describe("what a provider once streamed is read as its documentation says, wherever the network cuts it", () => {
  for (const reply of recorded)
    test(reply.name, async () => {
      for (const seed of [1, 2, 3])
        expect(measured(await eventsOf(reply, shred(sent(reply), seeded(seed))))).toEqual(expected(reply));
    });
});

describe("a recording without its terminal frame is a broken stream", () => {
  for (const reply of recorded)
    test(reply.name, async () => {
      const frames = framesBeforeTerminal(reply);
      for (const how of ["end", "fin", "rst"] as const)
        await expect(eventsOf(reply, cut(sent(reply), { frames }, how))).rejects.toMatchObject({ code: "stream" });
    });
});

describe("a recording that is cut anywhere is read whole or not at all", () => {
  for (const reply of recorded)
    test(reply.name, async () => {
      const random = seeded(Bun.hash.crc32(reply.name));
      // Usage may come after what completes a reply.
      const { usage: _, ...whole } = expected(reply);
      for (let seed = 1; seed <= 8; seed++) {
        const pieces = () => shred(sent(reply), seeded(seed));
        const frames = Math.floor(random() * framesIn(pieces(), reply.wire));
        const how = random() < 0.5 ? "fin" : "rst";
        await eventsOf(reply, cut(pieces(), { frames }, how)).then(
          (events) => expect(measured(events)).toMatchObject(whole),
          (error) => expect(error).toMatchObject({ code: "stream" }),
        );
      }
    });
});

describe("the next request says what the recorded reply said", () => {
  for (const reply of recorded.filter(({ name }) => figures[name]?.calls !== undefined))
    test(reply.name, async () => {
      const { text = nothing, calls = [], back = {} } = figuresOf(reply);
      await using server = await startModelServer([sent(reply), say("Done.")]);
      await using place = makePlace();
      const { end, events } = await exec(place, server, ["--wire", reply.wire, "Go on."]);
      expect({ status: end.status, problems: server.problems }).toEqual({ status: "done", problems: [] });
      expect(events.flatMap((event) => (event.type === "tool.start" ? [event.id] : []))).toEqual(
        calls.map(([id]) => id),
      );

      const [first, second] = server.requests;
      const said = second?.lines.slice(first?.lines.length);
      expect(said?.map(({ role }) => role)).toEqual(["assistant", ...calls.map(() => "tool" as const)]);
      expect(said?.[0]?.calls.map((call) => [call.id, call.tool])).toEqual(calls.map(([id, tool]) => [id, tool]));
      for (const [, , args] of calls) expect(second?.raw).toContain(repeatedArguments(reply, args));
      expect(figure(said?.[0]?.text ?? "")).toBe(text);
      expect(said?.slice(1).map((line) => line.call)).toEqual(calls.map(([id]) => id));
      for (const [field, figures] of Object.entries(back))
        expect(textsIn(second?.body, field).map(figure)).toEqual([...figures]);
    });
});

async function eventsOf({ wire }: RecordedReply, entry: Entry): Promise<ModelEvent[]> {
  await using server = await startModelServer([entry]);
  return await converse(connectTo(server.url, wire));
}

const nothing = figure("");

function figuresOf({ name }: RecordedReply): Figures {
  const found = figures[name];
  if (found === undefined) throw new Error(`The table has no figures of ${name}.`);
  return found;
}

function expected(reply: RecordedReply) {
  const { text = nothing, thinking = nothing, calls = [], usage, finish } = figuresOf(reply);
  const [input, cached, output, reasoning] = usage;
  return { text, thinking, thoughts: thinking, calls, usage: { input, cached, output, reasoning }, finish };
}

function measured(events: readonly ModelEvent[]): ReturnType<typeof expected> {
  const end = events.at(-1);
  if (end?.type !== "end") throw new Error(`The last event is not the end: ${JSON.stringify(end)}`);
  const joined = (type: "text" | "thinking") =>
    figure(events.map((event) => (event.type === type ? event.text : "")).join(""));
  const { input, cached, output, reasoning } = end.usage;
  const thoughts = figure(events.map((event) => (event.type === "thought" ? event.part.text : "")).join(""));
  const calls = events.flatMap((event) => (event.type === "call" ? [event.call] : []));
  return {
    text: joined("text"),
    thinking: joined("thinking"),
    thoughts,
    calls: calls.map(({ id, tool, arguments: text }) => [id, tool, text]),
    usage: { input, cached, output, reasoning },
    finish: end.reason,
  };
}

/** Every text under a key of this name, wherever in the value it is. */
function textsIn(value: unknown, name: string): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === name && typeof inner === "string" ? [inner] : textsIn(inner, name),
  );
}
