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
});
