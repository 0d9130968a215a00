import { expect, test } from "bun:test";
import { openChat, promptsOf } from "../support/chat.ts";
import { exec, type Line } from "../support/koda.ts";
import { call, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";

type Question = Extract<Line, { type: "question" }>;

const input = (id: string) => ({ op: "input", id, text: id });
const isQuestion = (line: Line): line is Question => line.type === "question";
const ask = call("AskUser", { question: "Which one?", options: ["red", "blue"] });

async function open(...[script, options = {}]: Parameters<typeof openChat>) {
  const chat = await openChat(script, options);
  return { ...chat, question: async () => (await chat.until(isQuestion)) as Question };
}

const resultOf = (events: readonly Line[]) => events.find((line) => line.type === "tool.end");

test.each([
  ["2", "blue"],
  ["neither", "neither"],
  ["7", "7"],
])("the answer %p is told to the model as %p", async (text, said) => {
  await using chat = await open([ask, say("done")]);
  chat.submit(input("go"));
  const question = await chat.question();
  expect(question).toMatchObject({ question: "Which one?", options: ["red", "blue"] });
  expect(await chat.ask({ op: "answer", id: "a", question: question.id, text })).toMatchObject({ status: "done" });
  await chat.reply("go");
  const { events } = await chat.finish();
  expect(resultOf(events)).toMatchObject({ ok: true, summary: said });
  expect(events.find(({ type }) => type === "question.end")).toMatchObject({ id: question.id, answer: said });
});

test("an interrupt and the end of input leave a question without an answer", async () => {
  await using interrupted = await open([ask, say("not reached")]);
  interrupted.submit(input("go"));
  await interrupted.question();
  await interrupted.ask({ op: "interrupt", id: "i" });
  expect(await interrupted.reply("go")).toMatchObject({ status: "cancelled" });
  await interrupted.finish();

  await using ended = await open([ask, say("then so")]);
  ended.submit(input("go"));
  await ended.question();
  const { events, end } = await ended.finish();
  expect(resultOf(events)).toMatchObject({ ok: false, summary: expect.stringContaining("did not answer") });
  expect(end.text).toBe("then so");
});

test("an answer to no question is refused", async () => {
  await using chat = await open([]);
  expect(await chat.ask({ op: "answer", id: "a", question: "x", text: "y" })).toMatchObject({ status: "failed" });
  await chat.finish();
});

test("only a chat offers the tool, and to no agent", async () => {
  await using place = makePlace();
  await using server = await startModelServer([ask, say("done")]);
  const { events } = await exec(place, server, ["go"]);
  expect(resultOf(events)).toMatchObject({ ok: false, summary: expect.stringContaining('Unknown tool "AskUser"') });

  const invoke = call("InvokeAgent", { agent: "task", prompt: "AGENT" });
  await using chat = await open([invoke, say("agent done"), say("done")]);
  await chat.ask(input("go"));
  await chat.finish();
  const offered = chat.server.requests.map(({ raw }) => raw.includes('"AskUser"'));
  expect(offered).toEqual([true, false, true]);
});

test("at the limit on requests the user is asked, and the turn goes on", async () => {
  const list = (n: number) => call("List", { path: ".".repeat(1 + (n % 2)) });
  await using chat = await open([list(0), list(1), list(0), list(1), say("done")], { args: ["--max-turns", "3"] });
  chat.submit(input("go"));
  const question = await chat.question();
  expect(question.options).toEqual(["stop", "+50", "+200"]);
  await chat.ask({ op: "answer", id: "a", question: question.id, text: "2" });
  expect(await chat.reply("go")).toMatchObject({ status: "done", result: { text: "done" } });
  await chat.finish();
  expect(chat.server.requests).toHaveLength(5);
});

test("without a yes the turn ends at its limit, and the next one has its own", async () => {
  const list = call("List", { path: "." });
  await using chat = await open([list, say("so far"), list, say("again")], { args: ["--max-turns", "2"] });
  for (const [id, text] of [
    ["one", "1"],
    ["two", "no"],
  ] as const) {
    chat.submit(input(id));
    const question = await chat.question();
    await chat.ask({ op: "answer", id: `a-${id}`, question: question.id, text });
    expect(await chat.reply(id)).toMatchObject({ status: "limit", error: { code: "max_turns" } });
  }
  const { exit } = await chat.finish();
  expect(exit).toBe(5);
  expect(promptsOf(chat.server.requests[1]).at(-1)).toContain("last reply");
});
