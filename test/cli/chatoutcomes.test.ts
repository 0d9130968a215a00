import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ChatLog } from "../support/chatlog.ts";
import { ChatProcess, type ToldLine } from "../support/chatprocess.ts";
import { walkKilledChat } from "../support/chatkills.ts";
import { promptsOf } from "../support/chat.ts";
import { using } from "../support/koda.ts";
import { call, hang, reply, say, wait } from "../support/model-reply.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { configure, makePlace, type Place } from "../support/place.ts";
import { until } from "../support/until.ts";

/** KODA_SEQUENCES=1000 tries more of them, and KODA_SEED begins with another one. */
const count = Number(process.env.KODA_SEQUENCES ?? 12);
const first = Number(process.env.KODA_SEED ?? 1);

for (let seed = first; seed < first + count; seed++)
  test(
    `each submission has one outcome, however often koda is killed: client ${seed}`,
    async () => expect((await walkKilledChat(seed)).problems).toEqual([]),
    120_000,
  );

test("nothing is accepted before a client can have read which session it is", async () => {
  await using place = makePlace();
  await using server = await startModelServer(() => say("done"));
  await using full = new ChatProcess(place, using(server), () => {}, { beginsFull: true });
  full.submit(input("a"));
  // In the time that it takes another one to answer.
  await using other = open(place, server);
  other.submit(input("b"));
  await other.seen("reply", "b");
  expect(new ChatLog(place).prompts().map(({ id }) => id)).toEqual(["b"]);
  full.drain();
  await full.seen("reply", "a");
});

test("a clear that was not read before a kill is told by the next process, and what waited is carried out once", async () => {
  await using place = makePlace();
  await using server = await startModelServer([say("one"), say("two")]);
  await using chat = open(place, server);
  chat.submit(input("a"));
  await chat.seen("reply", "a");
  const old = sessionOf(chat);
  chat.pause();
  // More than the pipe takes, so that nothing that follows leaves koda.
  for (let line = 0; line < 700; line++) chat.submit("no submission");
  chat.submit(submission("clear", "c"));
  chat.submit(input("b"));
  const other = () => new ChatLog(place).repliedIn("c").find((session) => session !== old);
  await until(() => other() !== undefined);
  const next = other() ?? "";
  // What follows has its reply, so everything that is done at once is done.
  chat.submit(submission("interrupt", "i"));
  await until(() => new ChatLog(place).repliedIn("i").length > 0);
  chat.kill();
  await chat.over;
  expect(chat.lines.filter(({ type }) => type === "session.start")).toHaveLength(1);

  const cleared = { submission: "c", status: "done", result: { session: next } };
  expect(await repliesIn(place, server, old, input("b"))).toMatchObject([cleared]);
  const told = await repliesIn(place, server, next);
  expect(told).toContainEqual(expect.objectContaining({ submission: "b", status: "done" }));
  expect(server.requests.slice(1).map(promptsOf)).toEqual([["b"]]);
});

test("a reply that nobody was there to read is told by the next process", async () => {
  await using place = makePlace();
  const [goOn, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await using server = await startModelServer([
    reply(say("one"), wait(goOn.promise), call("List", { path: "." })),
    reply(say("two"), wait(left.promise), say("three")),
  ]);
  await using chat = open(place, server);
  chat.submit(input("a"));
  await chat.seen("turn.start", "a");
  const session = sessionOf(chat);
  chat.submit(input("b"));
  await chat.seen("accepted", "b");
  const leaving = chat.leave();
  goOn.resolve();
  await leaving;
  left.resolve();
  await chat.over;
  const told = await repliesIn(place, server, session);
  expect(told.map((line) => line.submission)).toEqual(["a", "b"]);
});

test("all replies to a turn are stored before the first one is read", async () => {
  await using place = makePlace();
  const goOn = Promise.withResolvers<void>();
  await using server = await startModelServer([reply(call("List", { path: "." }), wait(goOn.promise)), say("both")]);
  await using chat = open(place, server);
  chat.submit(input("a"));
  await chat.seen("turn.start", "a");
  const session = sessionOf(chat);
  chat.pause();
  chat.submit(input("b"));
  // Otherwise the turn may be over before.
  await until(() => new ChatLog(place).left(session).some(({ id }) => id === "b"));
  for (let line = 0; line < 700; line++) chat.submit("no submission");
  goOn.resolve();
  await until(() => new ChatLog(place).repliedIn("a").length > 0);
  chat.submit(submission("interrupt", "i"));
  await until(() => new ChatLog(place).repliedIn("i").length > 0);
  chat.kill();
  await chat.over;
  const told = await repliesIn(place, server, session);
  for (const id of ["a", "b"])
    expect(told).toContainEqual(expect.objectContaining({ submission: id, result: { turn: 1, text: "both" } }));
});

test("a shutdown tells the outcome of a command that ran beside the turn", async () => {
  await using place = makePlace();
  await using server = await startModelServer([hang()]);
  await using chat = open(place, server);
  chat.submit(input("a"));
  await chat.seen("turn.start", "a");
  chat.submit(submission("shell", "sh", { command: "echo begun; sleep 60" }));
  await chat.seen("shell.output");
  chat.submit(submission("shutdown", "s"));
  await chat.over;
  const told = chat.lines.filter(({ type }) => type === "reply").map((line) => line.submission);
  expect(told.sort()).toEqual(["a", "s", "sh"]);
});

test("what a stopped chat had accepted is carried out by the next process, also in a session without a turn", async () => {
  // Not below /tmp, which is another one for commands.
  await using place = makePlace({}, "/var/tmp");
  configure(place, { hooks: [{ on: "prompt", command: "test -e go || { touch begun; sleep 60; }" }] });
  await using server = await startModelServer([say("late")]);
  await using chat = open(place, server);
  chat.submit(input("a"));
  await until(() => existsSync(join(place.project, "begun")));
  chat.submit(input("b"));
  await chat.seen("accepted", "b");
  chat.stop();
  await chat.over;
  const told = chat.lines.filter(({ type }) => type === "reply");
  expect(told).toMatchObject([{ submission: "a", status: "cancelled" }]);
  place.write("go", "");
  const late = await repliesIn(place, server, sessionOf(chat));
  expect(late).toMatchObject([{ submission: "b", status: "done", result: { text: "late" } }]);
});

const submission = (op: string, id: string, fields: object = {}) => JSON.stringify({ op, id, ...fields });
const input = (id: string) => submission("input", id, { text: id });

function open(place: Place, server: ModelServer, ...args: string[]): ChatProcess {
  return new ChatProcess(place, [...using(server), ...args], () => {});
}

function sessionOf({ lines: [line] }: ChatProcess): string {
  if (line?.type !== "session.start") throw new Error("the chat has not begun");
  return line.session;
}

/** The replies that the next process tells. */
async function repliesIn(place: Place, server: ModelServer, session: string, ...lines: string[]): Promise<ToldLine[]> {
  await using chat = open(place, server, "--resume", session);
  for (const line of lines) chat.submit(line);
  chat.close();
  await chat.over;
  return chat.lines.filter(({ type }) => type === "reply");
}
