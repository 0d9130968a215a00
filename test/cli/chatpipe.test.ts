import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promptsOf } from "../support/chat.ts";
import { finding, found, makeRepository } from "../support/review.ts";
import { koda, using } from "../support/koda.ts";
import { type Script, startModelServer } from "../support/model-server.ts";
import { call, problem, say } from "../support/model-reply.ts";
import { configure, makePlace, type Place } from "../support/place.ts";

/** `koda chat` with these lines on stdin. */
async function chat(place: Place, script: Script, input: string, ...args: string[]) {
  await using server = await startModelServer(script);
  const ran = await koda(place, ["chat", ...using(server), ...args], { stdin: input });
  return { ...ran, requests: server.requests, prompts: server.requests.map(promptsOf) };
}

test("over a pipe each line is a turn after the one before, and stdout has only the answers", async () => {
  await using place = makePlace();
  const { exit, stdout, stderr, prompts } = await chat(
    place,
    [[say("Let me look."), call("List", { path: "." })], say("one"), say("two")],
    "first\n\nsecond",
  );
  expect([exit, stdout]).toEqual([0, "one\ntwo\n"]);
  expect(prompts.at(-1)).toEqual(["first", "second"]);
  expect(stderr).toContain("Let me look.");
  expect(stderr).toContain("● List");
  expect(stderr).not.toMatch(/^(one|two)$/m);
  expect(stderr).toMatch(/to continue: koda chat --resume [^"]*\n$/);
  expect(stderr).not.toContain("\u001b");
});

test("several lines are one input: a block, or with a backslash at the end", async () => {
  await using place = makePlace();
  const input = '"""\na\n\nb\\\n"""\n"""one line"""\nc\\\nd\n/not/a/command\n"""\nopen';
  const { prompts } = await chat(
    place,
    ["1", "2", "3", "4", "5"].map((text) => say(text)),
    input,
  );
  expect(prompts.at(-1)).toEqual(["a\n\nb\\", "one line", "c\nd", "/not/a/command", "open"]);
});

test("the exit code is that of the last turn, and an error is told when it occurs", async () => {
  await using place = makePlace();
  const { exit, stdout, stderr } = await chat(place, [problem(400, "no such thing"), say("fine")], "a\nb\n");
  expect([exit, stdout]).toEqual([0, "fine\n"]);
  expect(stderr.match(/no such thing/g)).toHaveLength(1);
  const failed = await chat(place, [say("fine"), problem(400, "no such thing")], "a\nb\n");
  expect([failed.exit, failed.stdout]).toEqual([1, "fine\n"]);
  expect(failed.stderr.match(/no such thing/g)).toHaveLength(1);
});

test("over a pipe a call that needs approval is denied, unless the configuration approves it", async () => {
  await using place = makePlace();
  configure(place, { approvals: { commands: ["touch"] } });
  const touch = call("Bash", { command: "touch a.txt" });
  const write = call("Write", { path: "b.txt", content: "" });
  const { exit, stderr } = await chat(place, [touch, write, say("done")], "go\n", "--mode", "safe");
  expect(exit).toBe(0);
  expect(stderr).toContain("denied: mode safe: write");
  expect(["a.txt", "b.txt"].map((name) => existsSync(join(place.project, name)))).toEqual([true, false]);
});

test("a command with a slash never reaches the model, and an unknown one names the nearest", async () => {
  await using place = makePlace({ "sub/x": "" });
  const input =
    "/hlep\n/help\n/mode paln\n/mode plan\n/cd sub\n/tools\n/agents\n/skills\n/hooks\n/cost\nhi\n/cost\n/diff\n";
  const { exit, stdout, stderr, prompts } = await chat(place, [say("hello")], input);
  expect([exit, stdout]).toEqual([0, "hello\n"]);
  expect(prompts).toEqual([["hi"]]);
  expect(stderr).toContain('Unknown command "/hlep" (did you mean "/help"?)');
  expect(stderr).toContain("  /help");
  expect(stderr).toContain('Unknown mode "paln" (did you mean "plan"?)');
  expect(stderr).toMatch(/^· From now on: \S+ · mode plan · \S+\/project$/m);
  expect(stderr).toMatch(/^· From now on: \S+ · mode plan · \S+\/project\/sub$/m);
  expect(stderr).toMatch(/^ {2}Bash +\S/m);
  expect(stderr).toMatch(/^ {2}explore +\S/m);
  expect(stderr).toContain("No skills here");
  expect(stderr).toContain("Nothing was sent to the model yet");
  expect(stderr).toMatch(/\d tokens in · .* in the context window/);
  expect(stderr).toContain("No turn has changed a file");
});

test("turns are taken back, shown as a diff, exported and begun afresh", async () => {
  await using place = makePlace();
  const write = call("Write", { path: "a.txt", content: "new\n" });
  const input = "write\n/diff\n/export out.md\n/export out.md\n/undo\nagain\n/new\nfresh\n/sessions\n/quit\nnever\n";
  const { exit, stderr, prompts } = await chat(place, [write, say("1"), say("2"), say("3")], input);
  expect(exit).toBe(0);
  expect(stderr).toContain("+new");
  expect(readFileSync(join(place.project, "out.md"), "utf8")).toContain("write");
  expect(stderr).toMatch(/Cannot write "\S+out\.md": .*exist/);
  expect(stderr).toContain("· Took back the last turn");
  expect(existsSync(join(place.project, "a.txt"))).toBe(false);
  expect(prompts.slice(2)).toEqual([["again"], ["fresh"]]);
  expect(stderr).toMatch(/ID +AGE[^]*fresh/);
});

test("a command of the user's runs in the sandbox, and the model reads of it", async () => {
  await using place = makePlace();
  const { stderr, prompts } = await chat(place, [say("seen")], "!echo $((20+3))\nwhat was it?\n");
  expect(stderr).toMatch(/● Shell echo[^]*\n {4}23\n/);
  expect(prompts[0]?.join("\n")).toContain("23");
});

test("/NAME sends the user's prompt of that name", async () => {
  await using place = makePlace();
  const prompts = join(dirname(configure(place, {})), "prompts");
  mkdirSync(prompts);
  writeFileSync(join(prompts, "shout.md"), "Shout $ARGUMENTS loudly");
  const { stderr, prompts: sent } = await chat(place, [say("HELLO")], "/shotu x\n/prompts\n/shout hello\n");
  expect(sent).toEqual([["Shout hello loudly"]]);
  expect(stderr).toContain('Unknown command "/shotu" (did you mean "/shout"?)');
  expect(stderr).toMatch(/^ {2}shout +\S*shout\.md$/m);
});

test("/approvals lists and removes the starts of commands in the user's configuration", async () => {
  await using place = makePlace();
  const file = configure(place, '{\n  // mine\n  "approvals": { "commands": ["npm test", "touch"] }\n}\n');
  const input = "/approvals\n/approvals remove git\n/approvals remove npm test\n/approvals\n/approvals rm x\n";
  const { exit, stderr } = await chat(place, [], input);
  expect(exit).toBe(0);
  expect(stderr).toMatch(/need no approval:\n {2}npm test\n {2}touch\n/);
  expect(stderr).toContain('Cannot remove "git": expected one of npm test, touch');
  expect(stderr).toMatch(/need no approval:\n {2}touch\n/);
  expect(stderr).toContain("Expected /approvals or /approvals remove PREFIX");
  expect(readFileSync(file, "utf8")).toContain("// mine");
});

test("a conversation goes on with --last, and stops with --quiet at its answers", async () => {
  await using place = makePlace();
  await chat(place, [say("one")], "first\n");
  const { stdout, stderr, prompts } = await chat(place, [say("two")], "second\n/cost\n", "--last", "-q");
  expect([stdout, prompts]).toEqual(["two\n", [["first", "second"]]]);
  expect(stderr).toMatch(/^\d+ tokens in[^\n]*\n$/);
});

test("/resume and /fork go on with another session, and with the next line of the script", async () => {
  await using place = makePlace();
  await chat(place, [say("one")], "first\n", "--session", "mine");
  const input = "other\n/resume nowhere\n/resume mine\nsecond\n/fork\nthird\n";
  const { exit, stdout, stderr, prompts } = await chat(place, [say("x"), say("two"), say("three")], input);
  expect([exit, stdout]).toEqual([0, "x\ntwo\nthree\n"]);
  expect(prompts).toEqual([["other"], ["first", "second"], ["first", "second", "third"]]);
  expect(stderr).toMatch(/^koda: .*"nowhere"/m);
  const { stdout: list } = await koda(place, ["session", "list", "--json"]);
  const sessions = JSON.parse(list) as { id: string; turns: number; parent?: string }[];
  expect(sessions.map(({ turns }) => turns).sort()).toEqual([1, 2, 3]);
  expect(sessions.find(({ turns }) => turns === 3)?.parent).toBe("mine");
});

test("/resume and /fork keep what was changed in the chat", async () => {
  await using place = makePlace({ "below/a.txt": "" });
  await chat(place, [say("zero")], "zero\n", "--session", "mine");
  const input =
    "/mode plan\n/model other\n/cd below\n/verify true\none\n/fork\ntwo\n/verify off\n/resume mine\nthree\n";
  const script = [say("one"), say("two"), say("three")];
  const { exit, stdout, stderr } = await chat(place, script, input, "--mode", "auto");
  expect([exit, stdout]).toEqual([0, "one\ntwo\nthree\n"]);
  const starts = stderr.match(/^koda \d.*/gm)?.map((line) => /\/other .* mode plan .*\/below$/.test(line));
  expect(starts?.slice(-2)).toEqual([true, true]);
  expect(stderr.match(/● Verify/g)).toHaveLength(2);
});

test("/review reviews what is not committed, and the conversation goes on with its findings", async () => {
  await using place = makeRepository({ "a.txt": "one\n" });
  const nothing = await chat(place, [], "/review\n");
  expect(nothing.exit).toBe(0);
  expect(`${nothing.stdout}${nothing.stderr}`.match(/othing/g)).toHaveLength(1);
  place.write("a.txt", "two\n");
  const bug = finding("a.txt", { title: "A bug" });
  const { exit, stdout } = await chat(place, [found(bug), say("fixed")], "/review look close\nfix it\n");
  expect(exit).toBe(0);
  expect(stdout).toMatch(/^[^]*A bug[^]*fixed\n$/);
});

test("/verify has answers checked by a command, until it is off", async () => {
  await using place = makePlace();
  const { stdout, stderr, exit } = await chat(
    place,
    [say("1"), call("Write", { path: "ok", content: "" }), say("2"), say("3")],
    "/verify test -e ok\none\n/verify off\ntwo\n/verify\n",
  );
  expect([exit, stdout]).toEqual([0, "2\n3\n"]);
  expect(stderr).toContain("From now on an answer has to pass: test -e ok");
  expect(stderr.match(/● Verify/g)).toHaveLength(2);
  expect(stderr).toContain("/verify off");
});
