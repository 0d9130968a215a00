import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { exec, koda } from "../support/koda.ts";
import { call, type Entry, problem, reply, say } from "../support/model-reply.ts";
import { type ModelRequestSeen, type Script, startModelServer } from "../support/model-server.ts";
import { makePlace, type Place } from "../support/place.ts";

const window = 20_000;
const small = ["--config", `model_defaults.context_window=${window}`];

const tokensIn = ({ raw }: ModelRequestSeen) => Math.ceil(raw.length / 3.5);
const isSummary = ({ lines }: ModelRequestSeen) =>
  lines.at(-1)?.text.startsWith("The conversation is about to outgrow") ?? false;
const textOf = ({ lines }: ModelRequestSeen) => lines.map(({ text }) => text).join("\n");

/** A provider with a window: what is longer is refused. `summary` answers the requests for one, `next` all others. */
function windowed(
  next: (index: number) => Entry,
  { summary = (): Entry => say("Goal: count the words."), limit = window } = {},
): Script {
  let asked = 0;
  return (seen) => {
    const input = tokensIn(seen);
    if (input > limit)
      return problem(400, `This model's maximum context length is ${limit} tokens, requested ${input}`);
    const entry = isSummary(seen) ? summary() : next(asked++);
    return typeof entry === "object" && "type" in entry ? reply(entry, { usage: { input, output: 5 } }) : entry;
  };
}

/** A file of about 2,000 tokens. */
const page = (n: number) => `page ${n}\n${`${`word${n} `.repeat(10)}\n`.repeat(100)}`;
const book = (pages: number) => Object.fromEntries([...Array(pages).keys()].map((n) => [`p${n}.txt`, page(n)]));
const readPages = (pages: number) => (index: number) =>
  index < pages ? call("Read", { path: `p${index}.txt` }) : say("Counted.");

test("a task that outgrows the window is compacted and goes on to its end", async () => {
  await using place = makePlace({ ...book(40), "AGENTS.md": "Say aye.\n" });
  const todo = { items: [{ text: "count every page", status: "in_progress" }] };
  const next = (index: number) => (index === 0 ? call("TodoWrite", todo) : readPages(40)(index - 1));
  await using server = await startModelServer(windowed(next));
  const { end, events } = await exec(place, server, [...small, "Count the words, dear."]);

  expect(end).toMatchObject({ exit: 0, text: "Counted.", tools: { ok: 41, failed: 0 } });
  expect(server.requests.map(tokensIn).filter((tokens) => tokens > window)).toEqual([]);
  const summaries = server.requests.filter(isSummary);
  const compactions = events.filter(({ type }) => type === "compact");
  expect(summaries.length).toBeGreaterThan(2);
  expect(compactions).toHaveLength(summaries.length);
  for (const event of compactions) {
    if (event.type !== "compact") continue;
    expect(event.after_tokens).toBeLessThan(event.before_tokens);
    const usage = events[event.seq + 1];
    expect(usage).toMatchObject({ type: "usage", context: { used: event.after_tokens, window } });
  }

  for (const summary of summaries) {
    const after = server.requests[summary.index + 1];
    const text = after === undefined ? "" : textOf(after);
    for (const kept of [
      "Say aye.",
      "Count the words, dear.",
      "Goal: count the words.",
      "[in_progress] count every page",
    ])
      expect(text).toContain(kept);
  }
});

test("between compactions each request begins with the bytes of the one before", async () => {
  await using place = makePlace(book(30));
  await using server = await startModelServer(windowed(readPages(30)));
  await exec(place, server, [...small, "Count the words."]);
  /** Up to the bracket that closes the list. */
  const messagesOf = ({ body }: ModelRequestSeen) => JSON.stringify(body.messages);
  const pairs = server.requests.slice(1).map((request, index) => [server.requests[index], request] as const);
  const afterSummary = pairs.filter(([before]) => before !== undefined && isSummary(before));
  expect(afterSummary.length).toBeGreaterThan(1);
  for (const [before, request] of pairs)
    if (before !== undefined && !isSummary(before) && !isSummary(request))
      expect(messagesOf(request).startsWith(messagesOf(before).slice(0, -1))).toBe(true);
});

test("a window that is smaller than koda knows is found out by its refusal", async () => {
  await using place = makePlace(book(20));
  await using server = await startModelServer(windowed(readPages(20), { limit: 16_000 }));
  const { end, events } = await exec(place, server, ["Count the words."]);
  expect(end).toMatchObject({ exit: 0, text: "Counted." });
  expect(events.some(({ type }) => type === "compact")).toBe(true);
});

test("without automatic compaction a full window is an error", async () => {
  await using place = makePlace(book(20));
  await using server = await startModelServer(windowed(readPages(20)));
  const { end } = await exec(place, server, [...small, "--config", "compaction.auto=false", "Count the words."]);
  expect(end).toMatchObject({ exit: 1, error: { code: "context" } });
  expect(server.requests.some(isSummary)).toBe(false);
});

test("when no summary can be made the task goes on without one, and three failures end the attempts", async () => {
  await using place = makePlace(book(60));
  const summary = () => problem(400, "no summaries today");
  await using server = await startModelServer(windowed(readPages(60), { summary }));
  const { end, events } = await exec(place, server, [...small, "Count the words."]);
  const notices = events.filter((event) => event.type === "notice" && event.code === "compaction");
  expect(notices).toHaveLength(3);
  expect(JSON.stringify(notices.at(-1))).toContain("Compaction failed 3 times in a row and is off now");
  expect(end).toMatchObject({ exit: 1, error: { code: "context" } });
  expect(server.requests.filter(isSummary)).toHaveLength(3);
});

test("results that together exceed the window are trimmed, and the rest can be recalled", async () => {
  await using place = makePlace(book(12));
  const calls = [...Array(12).keys()].map((n) => call("Read", { path: `p${n}.txt` }));
  const next = (index: number): Entry =>
    [calls, call("RecallContext", { turn: 1, range: "1-20" }), say("Counted.")][index] ?? say("?");
  await using server = await startModelServer(windowed(next));
  const { end } = await exec(place, server, [...small, "Count the words."]);
  expect(end).toMatchObject({ exit: 0, text: "Counted." });
  expect(server.requests.map(tokensIn).filter((tokens) => tokens > window)).toEqual([]);
  const isTrimmed = server.requests.some((request) =>
    textOf(request).includes("characters were left out to save space"),
  );
  expect(isTrimmed).toBe(true);
});

test("a resumed session sends what the compacted one would have sent", async () => {
  await using place = makePlace(book(20));
  const next = (index: number) => (index === 21 ? say("Again.") : readPages(20)(index));
  await using server = await startModelServer(windowed(next));
  const first = await exec(place, server, [...small, "Count the words."]);
  const last = server.requests.at(-1);
  const second = await exec(place, server, [...small, "--resume", first.end.session ?? "", "And again."]);
  expect(second.end).toMatchObject({ exit: 0, text: "Again." });
  const before = last?.lines ?? [];
  expect(before.some(({ text }) => text.includes("Goal: count the words."))).toBe(true);
  const resumed = server.requests.at(-1)?.lines ?? [];
  expect(resumed.slice(0, before.length)).toEqual(before);
  expect(resumed.at(-1)?.text).toBe("And again.");
});

test("old results that can be had again are left out when a session is resumed later", async () => {
  await using place = makePlace(book(8));
  const next = (index: number) => (index === 9 ? say("Again.") : readPages(8)(index));
  await using server = await startModelServer(windowed(next, { limit: Infinity }));
  const first = await exec(place, server, ["Count the words."]);
  letPass(place, 10);
  const second = await exec(place, server, ["--resume", first.end.session ?? "", "And again."]);
  expect(second.events.find(({ type }) => type === "compact")).toMatchObject({ kind: "micro" });
  const results = server.requests.at(-1)?.lines.filter(({ role }) => role === "tool") ?? [];
  expect(results.map(({ text }) => text.includes("word"))).toEqual([false, false, false, true, true, true, true, true]);
  expect(results[0]?.text).toContain("RecallContext with turn 1");
});

test("a fork is replayed with the old results that its recording sent, however much later", async () => {
  await using place = makePlace(book(8));
  await using server = await startModelServer((_, index) => (index < 9 ? readPages(8)(index) : say("Again.")));
  const { session } = (await exec(place, server, ["Count the words."])).end;
  const tapes = ["soon", "later"].map((name) => join(place.home, name));
  for (const tape of tapes) {
    const recorded = await exec(place, server, ["--fork", session ?? "", "--record", tape, "And again."]);
    expect(recorded.end).toMatchObject({ exit: 0, text: "Again." });
    letPass(place, 10, tapes);
  }
  for (const [index, tape] of tapes.entries()) {
    const { exit, stdout } = await koda(place, [
      "exec",
      "--fork",
      session ?? "",
      "--replay",
      tape,
      "--json",
      "And again.",
    ]);
    expect([exit, stdout.includes('"kind":"micro"')]).toEqual([0, index === 1]);
  }
});

/** Makes everything that was recorded older, in the database and in cassettes. */
function letPass({ home }: Place, minutes: number, tapes: readonly string[] = []): void {
  const earlier = (date: string) => new Date(Date.parse(date) - minutes * 60_000).toISOString();
  for (const tape of tapes.filter(existsSync)) {
    const text = readFileSync(tape, "utf8");
    writeFileSync(tape, text.replace(/(?<="recorded_at":")[^"]+/, earlier));
  }
  using db = new Database(join(home, ".local/share/koda/koda.db"));
  db.run("UPDATE item SET at = at - ?", [minutes * 60_000]);
}

test("an outage while the summary is written leaves the conversation whole", async () => {
  await using place = makePlace(book(20));
  let isDown = true;
  const summary = () => (isDown ? problem(401, "the key was revoked") : say("Goal: count the words."));
  await using server = await startModelServer(windowed(readPages(20), { summary }));
  const first = await exec(place, server, [...small, "Count the words."]);
  expect(first.end).toMatchObject({ exit: 4, error: { code: "credentials" } });
  expect(first.events.some(({ type }) => type === "compact")).toBe(false);
  isDown = false;
  const second = await exec(place, server, [...small, "--resume", first.end.session ?? ""], { stdin: "ignore" });
  expect(second.end).toMatchObject({ exit: 0, text: "Counted." });
});

test("a stub of a summary is none, and a prompt that fills the window is not summarized before each request", async () => {
  await using place = makePlace({ ...book(6), "long.txt": "all of it ".repeat(3_200) });
  const summary = () => reply(say("Goal: the user"), { finish: "length" });
  await using server = await startModelServer(windowed(readPages(6), { summary }));
  const { events, end } = await exec(place, server, [...small, "-f", "long.txt"]);
  expect(end).toMatchObject({ exit: 0, text: "Counted." });
  expect(JSON.stringify(events.find((event) => event.type === "notice" && event.code === "compaction"))).toContain(
    "it was cut off at the output limit",
  );
  expect(server.requests.filter(isSummary).length).toBeLessThan(4);
});

test("a provider that reports too few tokens is not believed", async () => {
  await using place = makePlace(book(20));
  let asked = 0;
  await using server = await startModelServer((seen) => {
    const input = tokensIn(seen);
    if (input > window) return problem(400, `maximum context length is ${window} tokens, requested ${input}`);
    const part = isSummary(seen) ? say("Goal: count the words.") : readPages(20)(asked++);
    return reply(part as ReturnType<typeof say>, { usage: { input: 3, output: 1 } });
  });
  const { end, events } = await exec(place, server, [...small, "Count the words."]);
  expect(end).toMatchObject({ exit: 0, text: "Counted." });
  expect(server.requests.filter(isSummary).length).toBeLessThan(5);
  for (const event of events)
    if (event.type === "compact") expect(event.after_tokens).toBeLessThan(event.before_tokens);
});

test("a prompt that is too long for the window is cut, and says where the rest is", async () => {
  await using place = makePlace({ "long.txt": "all of it ".repeat(10_000) });
  await using server = await startModelServer(windowed(() => say("Counted.")));
  const { end } = await exec(place, server, [...small, "-f", "long.txt"]);
  expect(end).toMatchObject({ exit: 0, text: "Counted." });
  expect(server.requests.at(-1)?.lines.at(-1)?.text).toContain("RecallContext with turn 1 has them");
});
