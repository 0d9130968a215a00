import { expect, test } from "bun:test";
import { noUsage } from "../../lib/model/usage.ts";
import { recallTool } from "../../lib/tools/recall.ts";
import { call, makeShelf, output, reply, result, start, user } from "../support/sessions.ts";

type Input = Parameters<typeof recallTool.run>[0];

/** Two turns and an output of 500 lines. */
function makeConversation() {
  const shelf = makeShelf();
  const session = shelf.store.create(start);
  session.beginTurn();
  session.append(user("count"), reply("I count.", call("c1", "Bash", { command: "seq 500" })));
  session.outputs.save(
    output("o1", Array.from({ length: 500 }, (_, n) => `line ${n + 1}\n`).join(""), "oops\nfailed\n"),
  );
  session.append({ ...result("c1", "Exit code: 1"), ok: false, exitCode: 1, output: "o1" }, reply("Counted."));
  session.endTurn("complete");
  session.beginTurn();
  session.append(user("again"));
  return {
    session,
    async ask(input: Input) {
      const { ok, parts } = await recallTool.run(input, session);
      const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
      return { ok, text, lines: text.split("\n") };
    },
    async [Symbol.asyncDispose]() {
      session.close();
      await shelf[Symbol.asyncDispose]();
    },
  };
}

test("it only reads", () => {
  expect(recallTool.claim()).toEqual({ effect: "read", writes: [] });
});

test("what the model is told of it is short", () => {
  expect(recallTool.about.length + JSON.stringify(recallTool.input).length).toBeLessThanOrEqual(600);
});

test("a query gives places and snippets", async () => {
  await using conversation = makeConversation();
  const { ok, lines } = await conversation.ask({ query: "oops" });
  expect(ok).toBe(true);
  expect(lines).toEqual(["output o1, line 501: line 500 oops failed"]);
  expect((await conversation.ask({ query: "Counted" })).text).toBe("turn 1, assistant: Counted.");
  expect((await conversation.ask({ query: "volcano" })).text).toContain('matches "volcano"');
});

test("a turn is given as text", async () => {
  await using conversation = makeConversation();
  expect((await conversation.ask({ turn: 1 })).text).toBe(
    `[turn 1, lines 1-14 of 14]
[user]
count

[assistant]
I count.

[call Bash]
{"command":"seq 500"}

[result of Bash, failed, exit code 1, output o1]
Exit code: 1

[assistant]
Counted.`,
  );
  expect(await conversation.ask({ turn: 1, range: "2-2" })).toMatchObject({
    ok: true,
    lines: ['[turn 1, lines 2-2 of 14; continue with range "3-14"]', "count"],
  });
});

test("an output is given by lines, the first 200 unless others are asked for", async () => {
  await using conversation = makeConversation();
  const first = await conversation.ask({ output: "o1" });
  expect(first.lines[0]).toBe('[output o1, stderr from line 501, lines 1-200 of 502; continue with range "201-400"]');
  expect(first.lines.slice(1)).toEqual(Array.from({ length: 200 }, (_, n) => `line ${n + 1}`));
  const middle = await conversation.ask({ output: "o1", range: "120-122" });
  expect(middle.lines.slice(1)).toEqual(["line 120", "line 121", "line 122"]);
  const end = await conversation.ask({ output: "o1", range: " 499 – 9999 " });
  expect(end.lines).toEqual([
    "[output o1, stderr from line 501, lines 499-502 of 502]",
    "line 499",
    "line 500",
    "oops",
    "failed",
  ]);
  expect((await conversation.ask({ output: "o1", range: "300" })).lines).toHaveLength(201);
});

test("a result is never more than about 16 KB, and says how to go on", async () => {
  await using conversation = makeConversation();
  conversation.session.outputs.save(output("o2", `${"ü".repeat(200)}\n`.repeat(300)));
  const long = await conversation.ask({ output: "o2" });
  expect(Buffer.byteLength(long.text)).toBeWithin(15_000, 16_500);
  expect(long.lines[0]).toBe('[output o2, lines 1-39 of 300; continue with range "40-239"]');
  expect((await conversation.ask({ output: "o2", range: "40-239" })).lines[0]).toContain("lines 40-78 of 300");
});

test("a line that is too long is cut at a whole character", async () => {
  await using conversation = makeConversation();
  const family = "👩‍👩‍👧‍👦";
  conversation.session.outputs.save(output("o2", `x${family.repeat(1000)}`));
  const { lines } = await conversation.ask({ output: "o2" });
  expect(lines[1]).toMatch(new RegExp(`^x(${family}){363} \\[7007 more characters in this line\\]$`, "u"));
});

test.each<[string, Input, string]>([
  ["nothing to look for", {}, "exactly one of"],
  ["two ways at once", { query: "a", turn: 1 }, "exactly one of"],
  ["an empty query", { query: " " }, "query is empty"],
  ["a query with a range", { query: "a", range: "1-2" }, "takes no range"],
  ["an unknown output", { output: "o9" }, 'no stored output "o9"'],
  ["an unknown turn", { turn: 7 }, "no turn 7"],
  ["a range backwards", { output: "o1", range: "9-3" }, 'Bad range "9-3"'],
  ["a range from 0", { output: "o1", range: "0-3" }, 'Bad range "0-3"'],
  ["a range that is none", { turn: 1, range: "all" }, 'Bad range "all"'],
  ["a range past the end", { output: "o1", range: "600-700" }, "has 502 lines; 600-700 is not among them"],
])("%s is answered with what is wrong", async (_, input, message) => {
  await using conversation = makeConversation();
  const { ok, text } = await conversation.ask(input);
  expect([ok, text]).toEqual([false, expect.stringContaining(message)]);
});

test("a turn that was rolled back gives way to the turn that took its number", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create(start);
  const say = (text: string) => {
    session.beginTurn();
    session.append(user(`${text} prompt`));
    session.endTurn("complete");
  };
  ["first", "second", "third"].forEach(say);
  session.rollback(2);
  say("new");
  const shown = async (turn: number) => {
    const { parts } = await recallTool.run({ turn }, session);
    return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  };
  expect(await shown(1)).toContain("[user]\nfirst prompt");
  expect(await shown(2)).toBe("[turn 2, lines 1-2 of 2]\n[user]\nnew prompt");
  expect(await shown(3)).toContain("[this turn was rolled back]\n\n[user]\nthird prompt");
  expect(session.recall.search("third")).toEqual([
    { where: "turn 3, user (this turn was rolled back)", snippet: "third prompt" },
  ]);
  expect(session.recall.search("new")).toEqual([{ where: "turn 2, user", snippet: "new prompt" }]);
});

test("what was compacted away is found by its text, its turn and its output", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create(start);
  session.beginTurn();
  session.append(user("the port is 8123"), reply("", call("c1")));
  session.outputs.save(output("o1", "listening on loopback\n"));
  session.append({ ...result("c1", "cut"), output: "o1" });
  session.endTurn("complete");
  session.append({ kind: "compaction", text: "a summary", kept: [], tail: [], usage: noUsage });
  session.close();
  await using again = await shelf.store.open(session.id);
  expect(JSON.stringify(again.items())).not.toContain("8123");
  expect(again.recall.search("8123")).toEqual([{ where: "turn 1, user", snippet: "the port is 8123" }]);
  expect(again.recall.search("loopback")[0]?.where).toBe("output o1, line 1");
  expect(again.recall.turn(1)).toContain("the port is 8123");
  expect((await recallTool.run({ output: "o1" }, again)).parts).toEqual([
    { type: "text", text: "[output o1, lines 1-1 of 1]\nlistening on loopback" },
  ]);
});
