import { describe, expect, test } from "bun:test";
import { openLineChat, hasTmux, pausing, usualSize } from "../support/linechat.ts";
import { call, reply, say, silence, wait } from "../support/model-reply.ts";
import { finding, found, makeRepository } from "../support/review.ts";
import { makePlace } from "../support/place.ts";
import { processesNaming } from "../support/shell.ts";

const largeSize = { columns: 200, rows: 50 };
const narrow = { columns: 40, rows: 24 };

describe.skipIf(!hasTmux)("koda chat at a terminal", () => {
  test.each([
    ["80 columns", usualSize, {}],
    ["200 columns", largeSize, {}],
    ["40 columns", narrow, {}],
    ["no colours", usualSize, { NO_COLOR: "1" }],
    ["a dumb terminal", usualSize, { TERM: "dumb" }],
  ])("has the same content with %s: prompt, answer, tools, end", async (_, size, env) => {
    await using chat = await openLineChat(
      [[say("Let me look."), call("List", { path: "." })], say("Two\nlines."), say("bye")],
      { size, env },
    );
    chat.enter("look around");
    await chat.shows(/^> look around\nLet me look\.\n● List[^]*\nTwo\nlines\.\n>$/m);
    chat.enter("again");
    await chat.shows(/^> again\nbye\n>$/m);
    chat.press("C-d");
    expect(await chat.shows(/code=0/)).toMatch(/\n✓ done[^]*to continue: koda chat --resume/);
    expect(chat.prompts().at(-1)).toEqual(["look around", "again"]);
  });

  test.each([
    ["a usual terminal", {}],
    ["a dumb one", { TERM: "dumb" }],
  ])("text that is typed while a reply streams on %s is not mixed into it, and steers the turn", async (_, env) => {
    const end = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const streamed = reply(say("The answer is"), wait(goOn.promise), say(" forty-two.\nAnd more\n"), wait(end.promise));
    await using chat = await openLineChat([streamed, say("Now with both.")], { env });
    chat.enter("first");
    await chat.shows(/\nThe answer is$/);
    chat.type("do b");
    await chat.shows(/\nThe answer is\n> do b$/);
    goOn.resolve();
    await chat.shows(/And more\n> do b$/);
    chat.enter("oth");
    await chat.shows(/> do both\n· The model reads this with its next request$/);
    end.resolve();
    await chat.shows(/Now with both\.\n>$/);
    expect(chat.prompts()).toEqual([["first"], ["first", "do both"]]);
  });

  test("a long paragraph goes on above the line that is typed, row by row", async () => {
    const words = Array.from({ length: 60 }, (_, index) => `word${index}`).join(" ");
    const { entry, goOn } = pausing("Begin", ` ${words}`);
    await using chat = await openLineChat([entry]);
    chat.enter("first");
    await chat.shows(/\nBegin$/);
    chat.type("typing");
    await chat.shows(/\n> typing$/);
    goOn();
    await chat.shows(/word59\n> typing$/);
    expect(chat.screen().replaceAll(/\s/g, "")).toContain(`Begin${words.replaceAll(" ", "")}>typing`);
    expect(chat.cursorLine()).toBe("> typing");
  });

  test("Ctrl-C interrupts the turn, clears a line, and leaves when it comes twice", async () => {
    await using chat = await openLineChat([reply(say("Thinking"), silence()), say("fine")]);
    chat.enter("first");
    await chat.shows(/\nThinking$/);
    chat.press("C-c");
    await chat.shows(/koda: The turn was interrupted\n>$/);
    chat.type("not this");
    chat.press("C-c");
    await chat.shows(/> not this\^C\n>$/);
    chat.enter("second");
    await chat.shows(/fine\n>$/);
    chat.press("C-c");
    await chat.shows(/Press Ctrl-C again to quit\n>$/);
    chat.press("C-c");
    await chat.shows(/code=130/);
  });

  test("! runs a command in the sandbox, which Ctrl-C stops", async () => {
    await using chat = await openLineChat([say("I saw it.")]);
    chat.enter("!echo $((20+3))");
    await chat.shows(/● Shell echo[^]*\n {4}23\n[^]*\n>$/);
    chat.enter("!echo on; sleep 1000");
    await chat.shows(/\n {4}on$/m);
    chat.press("C-c");
    await chat.shows(/killed by SIGTERM[^\n]*\n>$/);
    chat.enter("what was it?");
    await chat.shows(/I saw it\.\n>$/);
    expect(chat.prompts()[0]?.join("\n")).toContain("23");
  });

  test("the line is edited with the usual keys, and comes back with Up", async () => {
    await using chat = await openLineChat([say("1"), say("2"), say("3")]);
    chat.type("worldly");
    chat.press("BSpace", "BSpace", "C-a");
    chat.type("hello ");
    await chat.shows(/> hello world$/m);
    expect(chat.cursorLine()).toBe("> hello ");
    chat.press("Enter");
    await chat.shows(/\n1\n>$/);
    chat.enter('"""');
    await chat.shows(/\n\.\.\.$/);
    chat.enter("a");
    chat.enter('b"""');
    await chat.shows(/\n2\n>$/);
    chat.press("Up");
    await chat.shows(/> a⏎b$/);
    chat.press("Up");
    await chat.shows(/> hello world$/);
    chat.press("Left", "BSpace", "Enter");
    await chat.shows(/> hello word\n3\n>$/);
    expect(chat.prompts().at(-1)).toEqual(["hello world", "a\nb", "hello word"]);
  });

  test("Up brings back inputs of earlier chats, but not those of a chat that keeps nothing", async () => {
    await using place = makePlace();
    {
      await using chat = await openLineChat([say("1")], { place, args: ["--ephemeral"] });
      chat.enter("private");
      await chat.shows(/\n1\n>$/);
    }
    {
      await using chat = await openLineChat([say("1")], { place });
      chat.enter("from the first chat");
      await chat.shows(/\n1\n>$/);
    }
    await using chat = await openLineChat([say("2")], { place });
    chat.press("Up");
    await chat.shows(/> from the first chat$/);
    chat.press("Enter");
    await chat.shows(/\n2\n>$/);
    expect(chat.prompts()).toEqual([["from the first chat"]]);
  });

  test("a session that goes on begins with the end of its conversation", async () => {
    await using place = makePlace();
    {
      await using chat = await openLineChat([say("one"), say("two")], { place, args: ["--session", "mine"] });
      chat.enter("first");
      await chat.shows(/\none\n>$/);
      chat.enter("dropped");
      await chat.shows(/\ntwo\n>$/);
      chat.enter("/undo");
      await chat.shows(/· Took back the last turn[^]*\n>$/);
      chat.press("C-d");
      await chat.shows(/code=0/);
    }
    for (const args of [
      ["--fork", "mine"],
      ["--resume", "mine"],
    ]) {
      await using chat = await openLineChat([say("three")], { place, args });
      await chat.shows(/\/project\n> first\none\n>$/);
      chat.enter("second");
      await chat.shows(/\nthree\n>$/);
      expect(chat.prompts()).toEqual([["first", "second"]]);
    }
  });

  test("a chat that was stopped from elsewhere has its keys again after fg", async () => {
    await using chat = await openLineChat([say("back")]);
    chat.type("half a li");
    await chat.shows(/> half a li$/);
    for (const pid of processesNaming(chat.server.url)) process.kill(pid, "SIGSTOP");
    await chat.shows(/Stopped[^]*ready>$/);
    chat.enter("fg");
    await chat.shows(/\nkoda chat [^]*> half a li$/);
    chat.press("BSpace", "C-a");
    chat.type("not ");
    chat.press("Enter");
    await chat.shows(/\nback\n>$/);
    expect(chat.prompts()).toEqual([["not half a l"]]);
  });

  test("/resume goes on with another session at the same terminal", async () => {
    await using chat = await openLineChat([say("one"), say("two"), say("three")], { args: ["--session", "mine"] });
    chat.enter("first");
    await chat.shows(/\none\n>$/);
    chat.enter("/new");
    await chat.shows(/· A new session[^\n]*\n>$/);
    chat.enter("other");
    await chat.shows(/\ntwo\n>$/);
    chat.enter("/resume mine");
    await chat.shows(/\n> first\none\n>$/);
    chat.enter("second");
    await chat.shows(/\nthree\n>$/);
    chat.press("Up");
    await chat.shows(/\n> second$/);
    chat.press("C-u", "C-d");
    await chat.shows(/code=0/);
    expect(chat.prompts()).toEqual([["first"], ["other"], ["first", "second"]]);
  });

  test("/review shows its findings, once", async () => {
    await using place = makeRepository({ "a.txt": "one\n" });
    place.write("a.txt", "two\n");
    await using chat = await openLineChat([found(finding("a.txt", { title: "A bug" }))], { place });
    chat.enter("/review");
    const shown = await chat.shows(/A summary\.\n>$/);
    expect(shown.match(/A bug/g)).toHaveLength(1);
  });

  test("200 pasted lines are one input, and stand in the line as a few words", async () => {
    await using chat = await openLineChat([say("long")]);
    const text = Array.from({ length: 200 }, (_, index) => `line ${index} "x" \\`).join("\n");
    chat.type("see ");
    chat.paste(text);
    await chat.shows(/> see \[paste 1: 200 lines\]$/);
    chat.press("Enter");
    await chat.shows(/\nlong\n>$/);
    expect(chat.prompts()).toEqual([[`see ${text}`.slice(0, -1).trimEnd() + " \\"]]);
  });

  test("a line that is longer than the terminal scrolls, and survives another size", async () => {
    await using chat = await openLineChat([say("ok")]);
    const text = Array.from({ length: 30 }, (_, index) => `word${index}`).join(" ");
    chat.type(text);
    await chat.shows(/> ….*word29$/);
    chat.press("C-a");
    await chat.shows(/> word0 word1 .*…$/);
    chat.resize(narrow);
    chat.press("C-e");
    await chat.shows(/> ….*word29$/);
    chat.resize(largeSize);
    chat.press("Enter");
    await chat.shows(/\nok\n>$/);
    expect(chat.prompts()).toEqual([[text]]);
  });

  test("Tab completes commands and file names", async () => {
    await using chat = await openLineChat([say("ok")], {
      place: makePlace({ "sub/alpha.txt": "", "sub/alps.txt": "" }),
    });
    chat.type("/mod");
    chat.press("Tab");
    await chat.shows(/\n> \/mode$/);
    chat.press("Tab");
    await chat.shows(/ {2}\/model {2}\/mode\n> \/mode$/);
    chat.press("C-u");
    chat.type("read su");
    chat.press("Tab");
    await chat.shows(/> read sub\/$/);
    chat.press("Tab");
    await chat.shows(/> read sub\/alp$/);
    chat.type("h");
    chat.press("Tab");
    await chat.shows(/alpha\.txt$/);
    chat.press("Enter");
    await chat.shows(/\nok\n>$/);
    expect(chat.prompts()).toEqual([["read sub/alpha.txt"]]);
  });

  test("Ctrl-Z gives the shell its terminal, and fg goes on where the line was", async () => {
    await using chat = await openLineChat([say("back")]);
    chat.type("half a li");
    chat.press("C-z");
    await chat.shows(/Stopped[^]*ready>$/);
    chat.enter("echo shell-$((1+1))");
    await chat.shows(/\nshell-2\n/);
    chat.enter("fg");
    await chat.shows(/\n> half a li$/);
    chat.enter("ne");
    await chat.shows(/> half a line\nback\n>$/);
    chat.press("C-d");
    await chat.shows(/ready>$/);
    chat.enter("stty -a | grep -o ' icanon\\| echo '");
    await chat.shows(/icanon\n echo/);
  });
});
