import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { readCassette, recordedModel } from "../../lib/model/cassette.ts";
import { type Fetch, platformFetch } from "../../lib/model/fetch.ts";
import type { Message } from "../../lib/model/message.ts";
import type { Model, ModelEvent, ModelRequest } from "../../lib/model/model.ts";
import { modelUrl } from "../../lib/model/address.ts";
import { type Wire, wires } from "../../lib/config/config.ts";
import { Recorder, secretsIn, type Track } from "../../lib/model/record.ts";
import { replayFrom } from "../../lib/model/replay.ts";
import { Traffic } from "../../lib/model/traffic.ts";
import { connectTo, converse, eventsOf, hello } from "../support/model-connection.ts";
import { call, cut, drip, type Entry, problem, reply, say, think, wait } from "../support/model-reply.ts";
import { refusingUrl, startModelServer } from "../support/model-server.ts";
import { makePlace, type Place } from "../support/place.ts";

/** The address of a replay's requests, to which nothing may be sent. */
const nowhere = "http://127.0.0.1:1/v1";

function recorder(place: Place, options: Partial<Track> = {}) {
  const file = join(place.project, "tape.jsonl");
  const cwd = place.project;
  const opened = new Recorder(file, { version: "1.2.3", provider: "test", model: "scripted", cwd }, []);
  const fetch = opened.record({ cwd, secrets: [], fetch: platformFetch, ...options });
  return { file, opened, fetch, close: () => opened.close() };
}

function player(file: string, options: Partial<Parameters<typeof replayFrom>[1]> = {}): Fetch {
  return replayFrom(readCassette(file), { cwd: "/somewhere/else", loose: false, ...options });
}

function asking(prompt: string): ModelRequest {
  return { ...hello, messages: [{ role: "user", parts: [{ type: "text", text: prompt }] }] };
}

/** Records one conversation, and gives what was heard of it. */
async function record(place: Place, wire: Wire, { script, requests }: { script: Entry[]; requests: ModelRequest[] }) {
  await using server = await startModelServer(script);
  const { file, fetch, close } = recorder(place);
  const model = connectTo(server.url, wire, { fetch, retry: { max: 5 } });
  const heard: ModelEvent[][] = [];
  for (const request of requests) heard.push(await converse(model, request));
  close();
  return { file, heard };
}

test.each([
  ["authorization", "Bearer opaque-renewed"],
  ["x-api-key", "opaque-renewed"],
])("a renewed key, which only the header %s has, is not in a cassette", async (name, value) => {
  await using place = makePlace();
  await using server = await startModelServer([reply(say("your key is opaque-renewed"))], { strict: false });
  const { file, fetch, close } = recorder(place);
  const body = JSON.stringify({ messages: [{ role: "user", content: "opaque-renewed" }] });
  const signal = AbortSignal.timeout(10_000);
  const response = await fetch(`${server.url}/chat/completions`, {
    method: "POST",
    headers: { [name]: value },
    body,
    signal,
  });
  await response.text();
  close();
  const tape = readFileSync(file, "utf8");
  expect(tape).toContain('"content":"[key]"');
  expect(tape).not.toContain("opaque-renewed");
});

describe.each(wires)("a cassette of the wire %s", (wire) => {
  test("replays the same events, with everything that went wrong on the way", async () => {
    await using place = makePlace();
    const script: Entry[] = [
      problem(429, "slow down", { "retry-after": "7", "x-request-id": "r1" }),
      cut(reply(say("ha", "lf"), say("x")), { frames: 4 }, "rst"),
      reply(think("hm", "sealed"), say("whole ", "ä😀"), call("Read", { path: "a" })),
      drip(say("the second")),
    ];
    const requests = [hello, asking("more")];
    const { file, heard } = await record(place, wire, { script, requests });

    const model = connectTo(nowhere, wire, { fetch: player(file), retry: { max: 5 } });
    const replayed: ModelEvent[][] = [];
    for (const request of requests) replayed.push(await converse(model, request));
    const withoutReason = (events: ModelEvent[][]) => JSON.stringify(events).replaceAll(/http:[^ "]+/g, "URL");
    expect(withoutReason(replayed)).toBe(withoutReason(heard));
    expect(heard[0]?.filter((event) => event.type === "retry")).toMatchObject([{ delayMs: 7000 }, { code: "stream" }]);
  });

  test("is a header and then one line for each request", async () => {
    await using place = makePlace();
    const { file } = await record(place, wire, { script: [say("a"), say("b")], requests: [hello, asking("more")] });
    const [header, ...lines] = readFileSync(file, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(header).toMatchObject({
      koda_cassette: 1,
      version: "1.2.3",
      recorded_at: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect(lines).toHaveLength(2);
    const path = new URL(modelUrl(wire, { baseUrl: nowhere }, "scripted")).pathname;
    expect(lines[0].request).toMatchObject({ wire, path, body: { model: "scripted", stream: true } });
    expect(lines[0].response).toMatchObject({ status: 200, headers: { "content-type": "text/event-stream" } });
    for (const frame of lines[0].response.frames) expect(frame).toEndWith("\n\n");
    expect(recordedModel(readCassette(file))).toEqual({ provider: "test", model: "scripted", wire });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test("holds no key: not in headers, not in a body, not in what the provider said", async () => {
    await using place = makePlace();
    const key = 'sk-"quoted"-0123456789';
    await using server = await startModelServer([
      problem(500, `you sent ${key}`, { "set-cookie": `token=${key}`, "x-ratelimit-reset": "1s", "x-echo": key }),
      say(`your key is ${key}`, "!"),
    ]);
    const { file, fetch, close } = recorder(place, { secrets: [key, "x"] });
    const model = connectTo(server.url, wire, { key, fetch, retry: { max: 1 } });
    await converse(model, asking(`my key is ${key}`));
    close();

    const tape = readFileSync(file, "utf8");
    expect(tape).not.toContain("0123456789");
    expect(tape.toLowerCase()).not.toMatch(/authorization|set-cookie|x-echo|bearer/);
    expect(tape).toContain("my key is [key]");
    expect(tape).toContain("x-ratelimit-reset");
    expect(
      await converse(connectTo(nowhere, wire, { fetch: player(file), retry: { max: 1 } }), asking("my key is [key]")),
    ).toContainEqual({ type: "text", text: "your key is [key]" });
  });

  test("tells where a request differs, with both values, and asks nobody", async () => {
    await using place = makePlace();
    const { file } = await record(place, wire, {
      script: [say("a")],
      requests: [asking("list the files of lib/model")],
    });
    const model = connectTo(nowhere, wire, { fetch: player(file), retry: { max: 5 } });
    const where = {
      chat: "messages[1].content",
      responses: "input[0].content",
      messages: "messages[0].content[0].text",
    }[wire];
    const error = converse(model, asking("list the files of lib/tools"));
    await expect(error).rejects.toMatchObject({
      code: "replay",
      retryable: false,
      message: `Request 1 differs from the recorded one at ${where}: recorded …"st the files of lib/model", sent …"st the files of lib/tools"`,
    });
  });

  test("that is over says how many requests it has", async () => {
    await using place = makePlace();
    const { file } = await record(place, wire, { script: [say("a")], requests: [hello] });
    const model = connectTo(nowhere, wire, { fetch: player(file, { loose: true }) });
    await converse(model);
    await expect(converse(model)).rejects.toMatchObject({
      code: "replay",
      message: expect.stringContaining("has 1 request"),
    });
  });

  test("played loosely answers all the same, and tells", async () => {
    await using place = makePlace();
    const { file } = await record(place, wire, { script: [say("a"), say("b")], requests: [hello, hello] });
    const told: string[] = [];
    const fetch = player(file, { loose: true, onDivergence: (message) => told.push(message) });
    const model = connectTo(nowhere, wire, { fetch });
    expect(await converse(model, asking("something else"))).toContainEqual({ type: "text", text: "a" });
    expect(await converse(model)).toContainEqual({ type: "text", text: "b" });
    expect(told).toHaveLength(1);
  });

  test("keeps a connection that did not come about", async () => {
    await using place = makePlace();
    const { file, fetch, close } = recorder(place);
    await expect(converse(connectTo(await refusingUrl(), wire, { fetch }))).rejects.toThrow();
    close();
    const again = converse(connectTo(nowhere, wire, { fetch: player(file) }));
    await expect(again).rejects.toMatchObject({ code: "network", message: expect.stringContaining("refused") });
  });

  test("keeps what came of a reply that nobody read to its end, in the order of the requests", async () => {
    await using place = makePlace();
    const gate = Promise.withResolvers<void>();
    await using server = await startModelServer([reply(say("first"), wait(gate.promise)), say("second")]);
    const { file, fetch, close } = recorder(place);
    const model = connectTo(server.url, wire, { fetch });
    for await (const event of eventsOf(model(hello, new AbortController().signal))) {
      expect(event).toEqual({ type: "text", text: "first" });
      break;
    }
    await converse(model, asking("more"));
    close();
    gate.resolve();
    const { exchanges } = readCassette(file);
    expect(exchanges.map(({ response }) => response.frames.join(""))).toEqual([
      expect.stringContaining("first"),
      expect.stringContaining("second"),
    ]);
    expect(exchanges[0]?.response.cut).toBeDefined();
  });
});

describe("two requests are the same", () => {
  const result = (id: string, text: string): Message[] => [
    { role: "user", parts: [{ type: "text", text: "go" }] },
    { role: "assistant", parts: [{ type: "call", id, tool: "Bash", arguments: `{"command":"${text}"}` }] },
    { role: "tool", call: id, tool: "Bash", ok: true, parts: [{ type: "text", text }] },
  ];

  async function difference(
    recorded: ModelRequest,
    sent: ModelRequest,
    cwd = "/home/b/project",
  ): Promise<string | undefined> {
    await using place = makePlace();
    await using server = await startModelServer([say("x")]);
    const { file, fetch, close } = recorder(place, { cwd: "/home/a/work" });
    await converse(connectTo(server.url, "chat", { fetch }), recorded);
    close();
    let message: string | undefined;
    const onDivergence = (text: string) => (message = text);
    await converse(connectTo(nowhere, "chat", { fetch: player(file, { cwd, loose: true, onDivergence }) }), sent);
    return message;
  }

  test.each<[string, string, string]>([
    ["a date", "Today is 2026-11-18.", "Today is 2027-01-02."],
    ["a time", "at 2026-11-18T12:00:01.5Z done", "at 2027-01-02T03:04:05+01:00 done"],
    ["a clock", "finished 12:00:01", "finished 23:59:59"],
    [
      "the project's place",
      "in /home/a/work/src/a.ts and /home/a/work.",
      "in /home/b/project/src/a.ts and /home/b/project.",
    ],
    ["a temporary directory", "wrote /tmp/koda-aB3/out.txt", "wrote /tmp/koda-xY9/out.txt"],
    ["a temporary directory of a Mac", "/private/var/folders/ab/cd_1/T/x1/out", "/var/folders/zz/yy_9/T/x2/out"],
    ["a UUID", "session 0198a1b2-0000-7abc-8def-0123456789ab", "session 0199ffff-1111-7abc-8def-ba9876543210"],
    ["a call's id", "see call_abc123XYZ", "see call_zzz999QQQ"],
  ])("when they differ only in %s", async (_name, recorded, sent) => {
    expect(await difference(asking(recorded), asking(sent))).toBeUndefined();
  });

  test.each<[string, string, string]>([
    ["a word", "delete a", "delete b"],
    ["the length", "one", "one two"],
    ["a number", "port 8080", "port 8081"],
    ["a file in the temporary directory", "/tmp/x/a.txt", "/tmp/x/b.txt"],
    ["a neighbour of the project's place", "in /home/a/workshop", "in /home/b/projectshop"],
    ["a version", "1.2.3", "1.2.4"],
  ])("but not when they differ in %s", async (_name, recorded, sent) => {
    expect(await difference(asking(recorded), asking(sent))).toContain("messages[1].content");
  });

  test("when only the ids of calls differ, as long as each result belongs to the same call", async () => {
    const recorded = { ...hello, messages: [...result("a", "ls"), ...result("b", "pwd")] };
    expect(
      await difference(recorded, { ...hello, messages: [...result("x", "ls"), ...result("y", "pwd")] }),
    ).toBeUndefined();
    const crossed = await difference(
      { ...hello, messages: [...result("a", "ls"), ...result("b", "ls")] },
      { ...hello, messages: [...result("x", "ls"), ...result("x", "ls")] },
    ).catch((error: Error) => error.message);
    expect(crossed).toContain("messages[5].tool_calls[0].id");
  });

  test("but not with another message more, another tool or another model", async () => {
    expect(await difference(hello, { ...hello, messages: [...hello.messages, ...hello.messages] })).toContain(
      "messages[2]: recorded nothing, sent {",
    );
    const tools = [{ name: "Read", about: "x", input: { type: "object" } }];
    expect(await difference({ ...hello, tools }, hello)).toContain("at tools: recorded [");
  });

  test("but not over another wire", async () => {
    await using place = makePlace();
    const { file } = await record(place, "chat", { script: [say("x")], requests: [hello] });
    const model = connectTo(nowhere, "responses", { fetch: player(file) });
    await expect(converse(model)).rejects.toMatchObject({
      code: "replay",
      message: expect.stringContaining('at wire: recorded "chat", sent "responses"'),
    });
  });
});

describe("a cassette file", () => {
  const header = '{"koda_cassette":1,"version":"1","recorded_at":"2026-11-18T00:00:00Z"}';

  test.each<[string, string, string]>([
    ["is empty", "", "header"],
    ["is something else", "# Hello\n", "header"],
    ["is of another version", '{"koda_cassette":2}\n', "header"],
    ["has a line that is not JSON", `${header}\n{oops\n`, "line 2"],
    ["has a line of another kind", `${header}\n\n{"request":{}}\n`, "line 3"],
    [
      "has a status that is none",
      `${header}\n{"request":{"wire":"chat","path":"/x","body":{}},"response":{"status":7,"headers":{},"frames":[]}}`,
      "line 2",
    ],
    [
      "has frames that are no text",
      `${header}\n{"request":{"wire":"chat","path":"/x","body":{}},"response":{"status":200,"headers":{},"frames":[1]}}`,
      "line 2",
    ],
  ])("that %s is a usage error which says so", async (_name, content, hint) => {
    await using place = makePlace({ "tape.jsonl": content });
    const file = join(place.project, "tape.jsonl");
    expect(() => readCassette(file)).toThrow(
      expect.objectContaining({ code: "usage", message: expect.stringContaining(hint) }),
    );
    expect(() => readCassette(file)).toThrow(file);
  });

  test("that is not there, or no file, is a usage error as well", async () => {
    await using place = makePlace();
    symlinkSync("nothing", join(place.project, "link"));
    for (const name of [".", "missing", "link"]) {
      expect(() => readCassette(join(place.project, name))).toThrow(expect.objectContaining({ code: "usage" }));
    }
  });

  test("with only a header has no answers", async () => {
    await using place = makePlace({ "tape.jsonl": header });
    const model = connectTo(nowhere, "chat", { fetch: player(join(place.project, "tape.jsonl")) });
    await expect(converse(model)).rejects.toMatchObject({ code: "replay" });
    expect(recordedModel(readCassette(join(place.project, "tape.jsonl")))).toMatchObject({ provider: "replay" });
  });

  test("that cannot be written is an output error before the first request", async () => {
    await using place = makePlace();
    mkdirSync(join(place.project, "tape.jsonl"));
    expect(() => recorder(place)).toThrow(
      expect.objectContaining({ code: "output", message: expect.stringContaining("tape.jsonl") }),
    );
  });

  test.skipIf(process.platform !== "linux")("that cannot be written any more ends the run", async () => {
    await using server = await startModelServer(() => say("x"));
    const full = { version: "1", provider: "p", model: "m", cwd: "/" };
    expect(() => new Recorder("/dev/full", full, [])).toThrow(expect.objectContaining({ code: "output" }));
    expect(server.requests).toHaveLength(0);
  });

  test("has a track for each conversation, whose answers no other one gets", async () => {
    await using place = makePlace();
    await using server = await startModelServer(({ body }) => say(`to ${JSON.stringify(body)}`));
    const file = join(place.project, "tape.jsonl");
    const header = { version: "1.2.3", provider: "test", model: "scripted" };
    const open = (traffic: Traffic, name?: string) => {
      const line = {
        name,
        header,
        secrets: [],
        writable: [],
        cwd: join(place.project, name ?? ""),
        onDivergence: () => {},
      };
      return connectTo(server.url, "chat", { fetch: traffic.open(line) });
    };
    const ask = async (model: Model, prompt: string) => JSON.stringify(await converse(model, asking(prompt)));

    const recording = new Traffic({ record: file, loose: false });
    const [first, second] = [open(recording), open(recording, "agent")];
    const heard = [await ask(first, "a"), await ask(second, "b"), await ask(first, "c")];
    recording[Symbol.dispose]();
    const replay = new Traffic({ replay: file, loose: false });
    const [one, other] = [open(replay), open(replay, "agent")];
    const [b, a, c] = [await ask(other, "b"), await ask(one, "a"), await ask(one, "c")];
    expect([a, b, c]).toEqual(heard);
    expect(a).not.toBe(c);
    expect(server.requests).toHaveLength(3);
    await expect(ask(other, "d")).rejects.toThrow(
      'The cassette has 1 request of the agent "agent", and this is request 2',
    );
  });

  test("leaves other requests alone", async () => {
    await using place = makePlace();
    await using server = await startModelServer([]);
    const { file, fetch, close } = recorder(place);
    const list = await fetch(`${server.url}/models`, { method: "GET", headers: {}, signal: AbortSignal.timeout(5000) });
    expect(list.status).toBe(200);
    close();
    expect(readCassette(file).exchanges).toEqual([]);
  });
});

test("what is named like a secret in the environment is one", () => {
  const env = {
    OPENAI_API_KEY: "0123456789",
    GITHUB_TOKEN: "abcdefghij",
    DB_PASSWORD: "short",
    HOME: "/home/somebody",
  };
  expect(secretsIn(env)).toEqual(["0123456789", "abcdefghij"]);
});
