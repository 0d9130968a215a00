import { afterAll, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { exec, type Line } from "../support/koda.ts";
import { messagesEvent } from "../support/model-messages.ts";
import { bytesOf, call, raw, reply, say } from "../support/model-reply.ts";
import { startModelServer, type Script } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";

const places = new AsyncDisposableStack();
afterAll(() => places.disposeAsync());

/** Models that do not behave. The run goes on, the model is told what was wrong, and the history stays well formed. */
async function run(script: Script, files: Record<string, string> = {}, flags: string[] = []) {
  const place = places.use(makePlace(files));
  await using server = await startModelServer(script);
  const ran = await exec(place, server, ["go", ...flags]);
  expect(server.problems).toEqual([]);
  return { ...ran, place, server, results: ran.events.filter((event) => event.type === "tool.end") };
}

test("an unknown tool is answered with the nearest name", async () => {
  const { end, results } = await run([call("Reed", { path: "a" }), say("Sorry.")]);
  expect(end).toMatchObject({ status: "done", tools: { ok: 0, failed: 1, denied: 0 } });
  expect(results[0]?.summary).toContain("did you mean Read?");
});

const deep = (levels: number) => `{"path":${"[".repeat(levels)}${"]".repeat(levels)}}`;

const malformed: [name: string, text: string][] = [
  ["nested without end", deep(300_000)],
  ["nested a little too deeply", deep(1_001)],
  ["half an object", '{"path": "a'],
  ["prose", "the file called a"],
  ["a bare word", "undefined"],
  ["two objects", '{"path":"a"}{"path":"b"}'],
];
for (const [name, text] of malformed)
  test.concurrent(`arguments that are ${name} are an error the model reads`, async () => {
    const { end, results, server } = await run([call("Read", text), say("Sorry.")]);
    expect(end).toMatchObject({ status: "done", tools: { failed: 1 } });
    expect(results[0]?.summary).toContain("not valid JSON");
    expect(server.requests[1]?.lines.at(-1)?.text).toContain("not valid JSON");
  });

const mismatched: [name: string, tool: string, input: unknown, complaint: string][] = [
  ["a missing argument", "Read", {}, "path"],
  ["an unknown argument", "Read", { path: "a", colour: "red" }, "colour"],
  ["a wrong type", "Read", { path: 7 }, "path"],
  ["a wrong inner type", "Edit", { path: "a", edits: [{ old: "x" }] }, "edits.0"],
  ["an array for an object", "Read", ["a"], "object"],
];
for (const [name, tool, input, complaint] of mismatched)
  test.concurrent(`${name} is named with its place`, async () => {
    const { end, results } = await run([call(tool, input), say("Sorry.")]);
    expect(end.status).toBe("done");
    expect(results[0]?.summary).toContain(complaint);
  });

test("arguments that are nested as deeply as anybody writes are read, and found not to match", async () => {
  const { end, results } = await run([call("Read", deep(1_000)), say("Sorry.")]);
  expect(end).toMatchObject({ status: "done", tools: { failed: 1 } });
  expect(results[0]?.summary).toContain("do not match its schema");
});

const nested = "[".repeat(300_000) + "]".repeat(300_000);
const withArguments = `{"index":0,"id":"a","function":{"name":"Read","arguments":{"path":${nested}}}}`;
const frames: [name: string, frame: string][] = [
  ["frame", nested],
  ["call's arguments, not as text", `{"choices":[{"delta":{"tool_calls":[${withArguments}]}}]}`],
  ["error", `{"error":${nested}}`],
];
for (const [name, frame] of frames)
  test.concurrent(`a provider's ${name} that is nested without end is a broken reply`, async () => {
    const { end, events } = await run([raw([`data: ${frame}\n\n`]), say("Done.")]);
    expect(end).toMatchObject({ status: "done", text: "Done." });
    expect(events.find((event) => event.type === "retry")?.reason).toContain("sent a frame that is not JSON");
  });

test("an answer that is nested without end does not match a schema", async () => {
  const { end } = await run(() => say(nested), { "s.json": '{"type":"array"}' }, ["--output-schema", "s.json"]);
  expect(end).toMatchObject({ status: "failed", error: { code: "schema" } });
  expect(end.exit).not.toBe(11);
});

test("no arguments at all are an empty object", async () => {
  const { results } = await run([call("List", ""), say("Done.")]);
  expect(results[0]).toMatchObject({ ok: true });
});

test("two calls with one id each get their own result", async () => {
  const { end, results, server } = await run(
    [reply(call("Read", { path: "a" }, { id: "same" }), call("Read", { path: "b" }, { id: "same" })), say("Done.")],
    { a: "alpha\n", b: "beta\n" },
  );
  expect(end.status).toBe("done");
  expect(new Set(results.map(({ id }) => id)).size).toBe(2);
  const told = server.requests[1]?.lines.filter(({ role }) => role === "tool").map(({ text }) => text) ?? [];
  expect(told[0]).toContain("alpha");
  expect(told[1]).toContain("beta");
});

test("calls that write run one after another in the model's order", async () => {
  const { events, place } = await run([
    [
      call("Bash", { command: "echo one >> log" }),
      call("Bash", { command: "echo two >> log" }),
      call("Bash", { command: "echo three >> log" }),
    ],
    say("Done."),
  ]);
  expect(readFileSync(join(place.project, "log"), "utf8")).toBe("one\ntwo\nthree\n");
  const kinds = events.filter(({ type }) => type === "tool.start" || type === "tool.end").map(({ type }) => type);
  expect(kinds).toEqual(["tool.start", "tool.end", "tool.start", "tool.end", "tool.start", "tool.end"]);
});

test("a stream that breaks off in the middle of a call executes nothing of it", async () => {
  const frame = (delta: object) => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`;
  const half = raw([
    frame({ role: "assistant", content: "" }),
    frame({ tool_calls: [{ index: 0, id: "c1", function: { name: "Bash", arguments: '{"command":"touch evil"}' } }] }),
  ]);
  const { end, events, place } = await run([half, say("Better.")]);
  expect(end).toMatchObject({ status: "done", text: "Better." });
  expect(events.filter(({ type }) => type === "retry")).toHaveLength(1);
  expect(existsSync(join(place.project, "evil"))).toBe(false);
});

test.each([
  ["thinking", "thinking: Extra inputs are not permitted"],
  ["a parameter", "temperature: Extra inputs are not permitted"],
  ["images", "This model does not support images"],
])("a refusal of %s in the middle of a reply makes all of it void", async (_, message) => {
  await using place = makePlace();
  const parts = [say("Half."), call("Write", { path: "a.txt", content: "a" })];
  const [begun = ""] = new TextDecoder().decode(bytesOf(parts, "messages")).split("event: message_delta");
  const error = messagesEvent({ type: "error", error: { type: "invalid_request_error", message } });
  await using server = await startModelServer([raw([begun, error]), say("Done.")]);
  const flags = ["--wire", "messages", "--temperature", "0.5", "Write a.txt"];
  const { end, events } = await exec(place, server, flags);
  expect(end).toMatchObject({ status: "done", text: "Done.", tools: { ok: 0, failed: 0, denied: 0 } });
  expect(events.filter(({ type }) => type === "retry")).toHaveLength(1);
  expect(existsSync(join(place.project, "a.txt"))).toBe(false);
});

test("a denied call is told in one sentence and counted, and the run goes on", async () => {
  const { end, results } = await run([call("Write", { path: "a", content: "x" }), say("I may not.")], {}, [
    "--mode",
    "plan",
  ]);
  expect(end).toMatchObject({ status: "done", tools: { ok: 0, failed: 0, denied: 1 } });
  expect(results[0]?.denied).toContain("plan");
  expect(results[0]?.summary).toStartWith("Denied");
});

test("--allow-tool and --deny-tool decide what is offered", async () => {
  const offered = async (flags: string[]) => (await run([say("ok")], {}, flags)).server.requests[0]?.tools;
  expect(await offered(["--allow-tool", "Read", "--allow-tool", "Grep"])).toEqual(["Read", "Grep"]);
  expect(await offered(["--deny-tool", "Bash"])).not.toContain("Bash");
  await using place = makePlace();
  await using server = await startModelServer([]);
  const { end, stderr } = await exec(place, server, ["--allow-tool", "Raed", "go"]);
  expect(end).toMatchObject({ exit: 2 });
  expect(stderr).toContain("Read");
});

test("arguments reach the events decoded, and a command's output as it comes", async () => {
  const { events } = await run([call("Bash", { command: "echo out; echo err >&2; exit 3" }), say("Done.")]);
  const of = <T extends Line["type"]>(type: T) => events.filter((event) => event.type === type);
  expect(of("tool.start")[0]).toMatchObject({ tool: "Bash", input: { command: "echo out; echo err >&2; exit 3" } });
  expect(of("tool.output").map((event) => event.type === "tool.output" && [event.stream, event.text])).toEqual([
    ["stdout", "out\n"],
    ["stderr", "err\n"],
  ]);
  expect(of("tool.end")[0]).toMatchObject({ ok: false, exit_code: 3 });
});

test("a thought between tags is no part of the answer, and goes back as it came, on resume too", async () => {
  await using place = makePlace({ a: "one\n" });
  const tagged = "<think>Look at\nthe file</think>\n\n";
  await using server = await startModelServer([
    [say(tagged), say("I read."), call("Read", { path: "a" })],
    say("<think>Done</think>One."),
    say("Again."),
  ]);
  const { end, events } = await exec(place, server, ["what is in a?"]);
  expect(end).toMatchObject({ status: "done", text: "One." });
  const spoken = events.flatMap((line) => (line.type === "text.delta" ? line.text : []));
  expect(spoken.join("")).toBe("I read.One.");
  await exec(place, server, ["--resume", end.session ?? "", "and now?"]);

  const contents = (index: number) => {
    const { messages = [] } = (server.requests[index]?.body ?? {}) as {
      messages?: { role: string; content: unknown }[];
    };
    return messages.filter(({ role }) => role === "assistant").map(({ content }) => content);
  };
  expect(contents(1)).toEqual([`${tagged}I read.`]);
  expect(contents(2)).toEqual([`${tagged}I read.`, "<think>Done</think>One."]);
  expect(server.problems).toEqual([]);
});
