import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openLineChat, hasTmux } from "../support/linechat.ts";
import { call, reply, say } from "../support/model-reply.ts";
import { configure, makePlace } from "../support/place.ts";

const safe = { args: ["--mode", "safe"] };
const touch = (name: string) => call("Bash", { command: `touch ${name}` });
const write = (name: string, id: string) => call("Write", { path: name, content: `${name}\n` }, { id });

describe.skipIf(!hasTmux)("a call that needs approval is asked about at a terminal", () => {
  test("with the tool, what it does, the rule and the directory; y, n and a line of feedback", async () => {
    await using chat = await openLineChat([touch("a"), touch("b"), touch("c"), say("done")], safe);
    const there = () => ["a", "b", "c"].filter((name) => existsSync(join(chat.place.project, name)));
    chat.enter("go");
    const question = await chat.shows(/\nAllow\? y\/a\/p\/n\/f >$/);
    expect(question).toMatch(/\? May Bash do this\? \(write; rule: mode safe: write\)\n {4}touch a\n/);
    expect(question.replaceAll("\n", "")).toContain(`in ${chat.place.project}`);
    chat.enter("please do");
    await chat.shows(/Expected y, a, p, n, f; Ctrl-C ends the turn\nAllow\?[^\n]*$/);
    expect(there()).toEqual([]);
    chat.enter("y");
    await chat.shows(/touch b\n[^]*Allow\?[^\n]*>$/);
    chat.enter("n");
    await chat.shows(/touch c\n[^]*Allow\?[^\n]*>$/);
    chat.enter("f");
    await chat.shows(/What to do instead\?$/);
    chat.enter("use d instead");
    await chat.shows(/\ndone\n(?: {2}A .*\n)*>$/);
    expect(there()).toEqual(["a"]);
    expect(chat.server.requests.at(-1)?.lines.at(-1)?.text).toContain("use d instead");
  });

  test("a host is named with its port, and stays refused after a no", async () => {
    const command = "curl -sS --fail http://one.invalid/; curl -sS --fail http://one.invalid/";
    await using chat = await openLineChat([call("Bash", { command }), say("done")]);
    chat.enter("go");
    await chat.shows(
      /\? May this run connect to one\.invalid:80\? \(rule: egress: not on the allowlist\)\n[^]*y\/a\/n\/f >$/,
    );
    chat.enter("f use the mirror");
    await chat.shows(/\ndone\n(?: {2}A .*\n)*>$/);
    expect(chat.server.requests.at(-1)?.lines.at(-1)?.text).toContain("use the mirror");
    expect(chat.screen().match(/Allow\?/g)).toHaveLength(1);
  });

  test("a counts for the tool until the chat ends, p for the start of a command from now on", async () => {
    const place = makePlace();
    const file = configure(place, {});
    await using chat = await openLineChat([write("a", "1"), write("b", "2"), touch("c"), touch("d"), say("done")], {
      ...safe,
      place,
    });
    chat.enter("go");
    await chat.shows(/May Write do this[^]*Allow\?[^\n]*>$/);
    chat.enter("a");
    await chat.shows(/May Bash do this[^]*Allow\?[^\n]*>$/);
    chat.enter("p");
    await chat.shows(/\ndone\n(?: {2}A .*\n)*>$/);
    expect(["a", "b", "c", "d"].filter((name) => existsSync(join(place.project, name)))).toHaveLength(4);
    expect(readFileSync(file, "utf8")).toContain('"touch"');
    chat.enter("/approvals remove touch");
    await chat.shows(/"touch" needs approval again[^]*\n>$/);
    expect(readFileSync(file, "utf8")).not.toContain('"touch"');
  });

  test("two at once are told apart, and the line that was being typed is kept for later", async () => {
    const ready = Promise.withResolvers<void>();
    await using chat = await openLineChat(async ({ lines }) => {
      if (lines.some(({ role }) => role === "tool")) return say("done");
      await ready.promise;
      return reply(write("a", "one"), write("b", "two"));
    }, safe);
    chat.enter("go");
    await chat.shows(/> go/);
    chat.type("my next thou");
    await chat.shows(/> my next thou$/);
    ready.resolve();
    await chat.shows(/May Write[^]*\n {4}[^]*Allow\?[^\n]*>$/);
    const first = /path: a$/m.test(chat.screen()) ? "a" : "b";
    chat.enter("n");
    await chat.shows(/Allow[^]*\? May Write[^]*Allow\?[^\n]*>$/);
    chat.enter("y");
    await chat.shows(/\ndone\n(?: {2}A .*\n)*> my next thou$/);
    expect(["a", "b"].filter((name) => existsSync(join(chat.place.project, name)))).toEqual([
      first === "a" ? "b" : "a",
    ]);
    chat.enter("ght");
    await chat.shows(/\n>$/);
  });

  test("an edit is asked about with its change, and Ctrl-C ends the turn", async () => {
    const place = makePlace({ "a.txt": "one\n" });
    await using chat = await openLineChat(
      [
        call("Read", { path: "a.txt" }),
        call("Edit", { path: "a.txt", edits: [{ old: "one", new: "two" }] }),
        say("no"),
      ],
      { ...safe, place },
    );
    chat.enter("go");
    expect(await chat.shows(/Allow\?[^\n]*>$/)).toMatch(/\n {4}-one\n {4}\+two\n/);
    chat.press("C-c");
    await chat.shows(/koda: The turn was ended at a question[^]*\n>$/);
    expect(readFileSync(join(place.project, "a.txt"), "utf8")).toBe("one\n");
    expect(chat.server.requests).toHaveLength(2);
  });

  test("and so is what the model asks: by number, or with any text", async () => {
    const ask = call("AskUser", { question: "Which one?", options: ["red", "blue"] });
    await using chat = await openLineChat([ask, ask, say("done")]);
    chat.enter("go");
    await chat.shows(/\n\? Which one\?\n {4}1\. red\n {4}2\. blue\n[^\n]*\nAnswer >$/);
    chat.enter("2");
    await chat.shows(/Answer > 2\n[^]*Answer >$/);
    chat.enter("neither of them");
    await chat.shows(/\ndone\n>$/);
    const said = chat.server.requests
      .at(-1)
      ?.lines.filter(({ role }) => role === "tool")
      .map(({ text }) => text);
    expect(said).toEqual([expect.stringContaining("blue"), expect.stringContaining("neither of them")]);
  });

  test("and at the limit of turns, whether to go on; Ctrl-C leaves a question open and ends the turn", async () => {
    const list = call("List", { path: "." });
    await using chat = await openLineChat([list, say("went on"), call("AskUser", { question: "Why?", options: [] })], {
      args: ["--max-turns", "2"],
    });
    chat.enter("go");
    await chat.shows(/\n\? [^]*50[^]*200[^]*Answer >$/);
    chat.enter("2");
    await chat.shows(/went on\n>$/);
    chat.enter("again");
    await chat.shows(/Answer >$/);
    chat.press("C-c");
    await chat.shows(/koda: [^\n]*\n>$/);
  });
});
