import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openLineChat, hasTmux } from "../support/linechat.ts";
import { serverOf } from "../support/mcp.ts";
import { call, reply, say } from "../support/model-reply.ts";
import { configure, makePlace } from "../support/place.ts";

const safe = { args: ["--mode", "safe"] };
const touch = (name: string) => call("Bash", { command: `touch ${name}` });
const write = (name: string, id: string) => call("Write", { path: name, content: `${name}\n` }, { id });

/** A call that makes a server ask for these fields. */
function asking(properties: Record<string, unknown>, more = {}) {
  const place = makePlace();
  const tools = [{ name: "elicit", does: "elicit", annotations: { readOnlyHint: true } }] as const;
  configure(place, { mcp: { servers: { s: serverOf({ tools }) } } });
  const required = ["name", "age", "days"].filter((name) => name in properties);
  const requestedSchema = { type: "object", properties, required };
  return { place, ask: call("s__elicit", { ask: { message: "Who are you?", requestedSchema, ...more } }) };
}

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

  test("a server's question is asked field by field, and again when the values do not match", async () => {
    const { place, ask } = asking({
      name: { type: "string", title: "Your name", minLength: 2 },
      age: { type: "integer", minimum: 18, description: "In years" },
      isNew: { type: "boolean", default: true },
      plan: {
        type: "string",
        oneOf: [
          { const: "s", title: "Small" },
          { const: "l", title: "Large" },
        ],
      },
      days: { type: "array", items: { type: "string", enum: ["mon", "tue", "wed"] } },
    });
    await using _ = place;
    await using chat = await openLineChat([ask, say("done")], { place });
    const values = async (age: string) => {
      chat.enter("y");
      await chat.shows(/\? Your name\n {2}text\nAnswer >$/);
      chat.enter("");
      await chat.shows(/Expected an answer; Ctrl-C ends the turn\nAnswer >$/);
      chat.enter("Ada");
      await chat.shows(/\? age\n {4}In years\n {2}a number\nAnswer >$/);
      chat.enter(age);
      await chat.shows(/\? isNew\n {2}y or n; Enter: yes\nAnswer >$/);
      chat.enter("");
      await chat.shows(/\? plan\n {4}1\. Small\n {4}2\. Large\n {2}one of these; Enter: no answer\nAnswer >$/);
      chat.enter("3");
      await chat.shows(/Expected one number from 1 to 2[^\n]*\nAnswer >$/);
      chat.enter("Large");
      await chat.shows(/3\. wed\n {2}some of these, with commas between\nAnswer >$/);
      chat.enter("1, wed");
      return await chat.shows(/ days: mon, wed\nSend\? y\/n\/e >$/);
    };
    chat.enter("go");
    await chat.shows(/\? The MCP server "s" asks you:\n {4}Who are you\?\n[^\n]*\nAnswer\? y\/n >$/);
    chat.enter("Ada");
    await chat.shows(/Expected y or n; Ctrl-C ends the turn\nAnswer\? y\/n >$/);
    expect(await values("7")).toMatch(
      /\n {4}Your name: Ada\n {4}age: 7\n {4}isNew: yes\n {4}plan: l\n {4}days: mon, wed\n/,
    );
    chat.enter("y");
    await chat.shows(/age: [^\n]*18[^]*asks you:\n {4}Who are you\?\n[^]*Answer\? y\/n >$/);
    await values("36");
    chat.enter("y");
    await chat.shows(/\ndone\n>$/);
    const content = '{"name":"Ada","age":36,"isNew":true,"plan":"l","days":["mon","wed"]}';
    expect(chat.server.requests.at(-1)?.lines.at(-1)?.text).toContain(content);
  });

  test("a page is asked about with its host, n declines, and Ctrl-C ends the turn", async () => {
    const { place, ask } = asking({}, { mode: "url", elicitationId: "e", url: "https://example.com/a\u202eb" });
    await using _ = place;
    await using chat = await openLineChat([ask, say("done"), ask, say("not reached")], { place });
    chat.enter("go");
    await chat.shows(
      /asks you to visit a page of example\.com:\n {4}Who are you\?\n {4}https:\/\/example\.com\/a%E2%80%AEb\n[^\n]*\nAnswer\? y\/n >$/,
    );
    chat.enter("n");
    await chat.shows(/\ndone\n>$/);
    expect(chat.server.requests.at(-1)?.lines.at(-1)?.text).toContain("decline");
    chat.enter("again");
    await chat.shows(/again\n[^]*Answer\? y\/n >$/);
    chat.press("C-c");
    await chat.shows(/koda: The turn was interrupted[^]*\n>$/);
    expect(chat.server.requests).toHaveLength(3);
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
