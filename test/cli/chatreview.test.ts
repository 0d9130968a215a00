import { expect, test } from "bun:test";
import { openChat, promptsOf } from "../support/chat.ts";
import { call, reply, say, wait } from "../support/model-reply.ts";
import { finding, found, makeRepository } from "../support/review.ts";

const input = (id: string) => ({ op: "input", id, text: id });
const bug = finding("a.txt", { severity: "high", title: "A bug" });

function makeChange() {
  const place = makeRepository({ "a.txt": "one\n" });
  place.write("a.txt", "two\n");
  return place;
}

test("a review is a turn, and its findings are a part of the conversation", async () => {
  await using chat = await openChat([found(bug), say("fixed")], { place: makeChange() });
  expect(await chat.ask({ op: "review", id: "r", hint: "the first line" })).toMatchObject({
    status: "done",
    result: { turn: 1, output: { findings: [expect.objectContaining({ path: "a.txt", title: "A bug" })] } },
  });
  await chat.ask(input("fix them"));
  const { events, end } = await chat.finish();
  expect(events.filter(({ type }) => type.startsWith("turn.")).map(({ submission }) => submission)).toEqual([
    "r",
    "r",
    "fix them",
    "fix them",
  ]);
  expect(promptsOf(chat.server.requests[0]).join("\n")).toContain("the first line");
  expect(JSON.stringify(chat.server.requests[1]?.body.messages)).toContain("A bug");
  expect([end.status, end.agents]).toEqual(["done", { ok: 1, failed: 0, cancelled: 0 }]);
});

test("nothing to review is an answer without a turn", async () => {
  await using chat = await openChat([], { place: makeRepository({ "a.txt": "one\n" }) });
  expect(await chat.ask({ op: "review", id: "r" })).toMatchObject({
    status: "done",
    result: { output: { findings: [] } },
  });
  const { events } = await chat.finish();
  expect(events.filter(({ type }) => type === "turn.start")).toEqual([]);
});

test("a target that does not exist is told, and the chat goes on", async () => {
  await using chat = await openChat([say("hello")], { place: makeChange() });
  expect(await chat.ask({ op: "review", id: "r", target: { kind: "base", base: "nowhere" } })).toMatchObject({
    status: "failed",
    error: { code: "usage", message: expect.stringContaining("nowhere") },
  });
  expect(await chat.ask(input("hi"))).toMatchObject({ status: "done" });
  await chat.finish();
});

test("an interrupt ends a review without findings, and input that came meanwhile begins the next turn", async () => {
  const begun = Promise.withResolvers<void>();
  await using chat = await openChat([reply(wait(() => (begun.resolve(), new Promise(() => {})))), say("next")], {
    place: makeChange(),
  });
  chat.submit({ op: "review", id: "r" });
  await begun.promise;
  chat.submit(input("meanwhile"));
  await chat.until((line) => line.type === "accepted" && line.submission === "meanwhile");
  await chat.ask({ op: "interrupt", id: "i" });
  expect(await chat.reply("r")).toMatchObject({ status: "cancelled" });
  expect(await chat.reply("meanwhile")).toMatchObject({ status: "done", result: { text: "next" } });
  const { events } = await chat.finish();
  expect(events.find((line) => line.type === "notice" && line.message.includes("no findings"))).toBeDefined();
});

test("an undo while a review runs is refused", async () => {
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  await using chat = await openChat(
    [
      reply(
        call("List", { path: "." }),
        wait(() => (begun.resolve(), goOn.promise)),
      ),
      found(),
    ],
    {
      place: makeChange(),
    },
  );
  chat.submit({ op: "review", id: "r" });
  await begun.promise;
  chat.submit({ op: "undo", id: "u" });
  expect(await chat.until(({ type }) => type === "rejected")).toMatchObject({ submission: "u" });
  goOn.resolve();
  await chat.reply("r");
  await chat.finish();
});
