import { describe, expect, test } from "bun:test";
import { wireOfPath } from "../../lib/model/address.ts";
import type { Message } from "../../lib/model/message.ts";
import type { ModelEvent, ModelRequest, ModelSettings } from "../../lib/model/model.ts";
import { type ConnectionOptions, connectTo, converse, hello } from "../support/model-connection.ts";
import { messagesEvent } from "../support/model-messages.ts";
import { raw, say, status } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";

async function read(...frames: readonly string[]): Promise<ModelEvent[]> {
  await using server = await startModelServer([raw(frames)]);
  return await converse(connectTo(server.url, "messages"));
}

async function bodyOf(request: Partial<ModelRequest>, options?: ConnectionOptions) {
  await using server = await startModelServer([say("fine")]);
  await converse(connectTo(server.url, "messages", options), { ...hello, ...request });
  expect(server.problems).toEqual([]);
  return await server.nextRequest();
}

const text = (value: string) => ({ type: "text", text: value }) as const;
const start = (index: number, content_block: object) =>
  messagesEvent({ type: "content_block_start", index, content_block });
const delta = (index: number, piece: object) => messagesEvent({ type: "content_block_delta", index, delta: piece });
const stop = (index: number) => messagesEvent({ type: "content_block_stop", index });
const ended = (stop_reason: string, usage: object = {}) =>
  messagesEvent({ type: "message_delta", delta: { stop_reason }, usage }) + messagesEvent({ type: "message_stop" });

describe("a reply over the wire messages", () => {
  test.each([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["pause_turn", "length"],
    ["refusal", "filter"],
    ["something_new", "stop"],
  ] as const)("the stop reason %s is told as %s", async (theirs, ours) => {
    expect((await read(ended(theirs))).at(-1)).toMatchObject({ type: "end", reason: ours });
  });

  test("the input is what was read, written and neither, and the last report counts", async () => {
    const first = { input_tokens: 5, cache_read_input_tokens: 900, cache_creation_input_tokens: 95, output_tokens: 1 };
    const begun = messagesEvent({ type: "message_start", message: { usage: first } });
    const events = await read(begun, ended("end_turn", { input_tokens: null, output_tokens: 20 }));
    expect(events.at(-1)).toMatchObject({
      usage: { input: 1000, cached: 900, written: 95, output: 20, reasoning: null },
    });
    const thinking = { input_tokens: 7, output_tokens: 20, output_tokens_details: { thinking_tokens: 12 } };
    expect((await read(begun, ended("end_turn", thinking))).at(-1)).toMatchObject({
      usage: { input: 1002, reasoning: 12 },
    });
  });

  test("usage that was not reported is unknown, also the part that was cached", async () => {
    const { usage } = (await read(ended("end_turn"))).at(-1) as Extract<ModelEvent, { type: "end" }>;
    expect(usage).toEqual({ input: null, cached: null, output: null, reasoning: null });
  });

  test("a call whose arguments came with its start is a call", async () => {
    const whole = { type: "tool_use", id: "t", name: "Read", input: { path: "a" } };
    const events = await read(start(0, whole), stop(0), ended("tool_use"));
    expect(events[0]).toEqual({
      type: "call",
      call: { type: "call", id: "t", tool: "Read", arguments: '{"path":"a"}' },
    });
  });

  test("a call that came whole with the start of its message is a call", async () => {
    const content = [{ type: "tool_use", id: "t", name: "Read", input: { path: "a" } }];
    const begun = messagesEvent({ type: "message_start", message: { content, stop_reason: "tool_use" } });
    const events = await read(begun, messagesEvent({ type: "message_stop" }));
    expect(events).toMatchObject([
      { type: "call", call: { id: "t" } },
      { type: "end", reason: "calls" },
    ]);
    await expect(read(begun)).rejects.toMatchObject({ code: "stream" });
  });

  test("blocks that the server never stopped are complete with the reply", async () => {
    const events = await read(
      start(0, { type: "tool_use", id: "t", name: "Read", input: {} }),
      delta(0, { type: "input_json_delta", partial_json: "{}" }),
      ended("tool_use"),
    );
    expect(events).toMatchObject([{ type: "call" }, { type: "end", reason: "calls" }]);
  });

  test("what the provider's own tools do is neither text nor a call", async () => {
    const events = await read(
      start(0, { type: "server_tool_use", id: "s", name: "web_search", input: {} }),
      delta(0, { type: "input_json_delta", partial_json: '{"query":"x"}' }),
      stop(0),
      start(1, { type: "web_search_tool_result", tool_use_id: "s", content: [] }),
      stop(1),
      start(2, { type: "text", text: "Fo" }),
      delta(2, { type: "text_delta", text: "und." }),
      stop(2),
      ended("end_turn"),
    );
    expect(events.map((event) => (event.type === "text" ? event.text : event.type))).toEqual(["Fo", "und.", "end"]);
  });

  test("an error within the stream keeps its meaning", async () => {
    const error = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    await expect(
      read(start(0, { type: "text", text: "Hm" }), `event: error\ndata: ${JSON.stringify(error)}\n\n`),
    ).rejects.toMatchObject({ code: "overloaded", retryable: true });
  });
});

describe("a request over the wire messages", () => {
  const result = (call: string): Message => ({ role: "tool", call, tool: "Read", ok: true, parts: [text("x")] });
  const called = (...ids: readonly string[]): Message => ({
    role: "assistant",
    parts: ids.map((id) => ({ type: "call", id, tool: "Read", arguments: "{}" })),
  });

  test("results and prompts that follow each other are one turn of the user", async () => {
    const messages = [
      ...hello.messages,
      ...hello.messages,
      called("a", "b"),
      result("a"),
      result("b"),
      ...hello.messages,
    ];
    const { body } = await bodyOf({ messages });
    expect(body.messages).toMatchObject([
      { role: "user", content: [{ text: "hello" }, { text: "hello" }] },
      { role: "assistant", content: [{ id: "a" }, { id: "b" }] },
      { role: "user", content: [{ tool_use_id: "a" }, { tool_use_id: "b" }, { text: "hello" }] },
    ]);
  });

  test("arguments go back in the bytes that they came in, and ids of other providers in characters that are taken", async () => {
    const spaced = '{ "path" : "ü\\u00fc" ,\n "n": 1.0 }';
    const messages: Message[] = [
      ...hello.messages,
      { role: "assistant", parts: [{ type: "call", id: "functions.Read:0", tool: "Read", arguments: spaced }] },
      result("functions.Read:0"),
    ];
    const { raw: sent, lines } = await bodyOf({ messages });
    expect(sent).toContain(`"input":${spaced}}`);
    expect(lines[2]?.calls[0]?.id).toMatch(/^call_\w+$/);
  });

  test("white space alone is no text", async () => {
    const messages: Message[] = [
      { role: "user", parts: [text(" \n")] },
      { role: "assistant", parts: [text("\n\n"), { type: "call", id: "a", tool: "Read", arguments: "{}" }] },
      { role: "tool", call: "a", tool: "Read", ok: false, parts: [text("\n")] },
    ];
    const { lines } = await bodyOf({ messages });
    expect(lines.map((line) => line.text)).toEqual(["You are a test.", "(empty)", "", "(empty)"]);
  });

  test.each<[string, ModelSettings, object]>([
    ["claude-opus-4-6", {}, { thinking: { type: "adaptive" } }],
    [
      "claude-fable-5-1",
      { reasoningEffort: "low" },
      { thinking: { type: "adaptive" }, output_config: { effort: "low" } },
    ],
    ["anthropic.claude-sonnet-5-v1:0", {}, { thinking: { type: "adaptive" } }],
    ["anthropic/claude-opus-4.7", {}, { thinking: { type: "adaptive" } }],
    ["claude-sonnet-4-5-20250929", {}, {}],
    ["claude-sonnet-4-5", { reasoningEffort: "medium" }, { thinking: { type: "enabled", budget_tokens: 12_000 } }],
    ["claude-3-7-sonnet-20250219", { reasoningEffort: "low" }, { thinking: { type: "enabled", budget_tokens: 4_000 } }],
    ["claude-opus-4-6", { temperature: 0.5 }, { temperature: 0.5 }],
    [
      "kimi-k2",
      { reasoningEffort: "high", maxOutputTokens: 4_000 },
      { thinking: { type: "enabled", budget_tokens: 2_976 } },
    ],
    ["kimi-k2", { reasoningEffort: "high", maxOutputTokens: 2_000 }, {}],
  ])("%s thinks as it can be asked to, with %j", async (name, settings, expected) => {
    const { thinking, output_config, temperature } = (await bodyOf({}, { settings, info: { name } })).body;
    expect<object>({ thinking, output_config, temperature }).toEqual(expected);
  });

  test("what the cost limit leaves changes how much a model may think only now and then: that empties the cache", async () => {
    const options = {
      settings: { reasoningEffort: "high" },
      info: { name: "claude-haiku-4-5", maxOutput: 64_000 },
    } as const;
    const budgets: unknown[] = [];
    for (const affordableOutput of [70_000, 30_000, 24_000, 14_000, 13_000, 3_000, 2_500, 2_000, 900])
      budgets.push((await bodyOf({ affordableOutput }, options)).body.thinking);
    const enabled = (budget_tokens: number) => ({ type: "enabled", budget_tokens });
    const [full, half, least] = [enabled(24_000), enabled(12_000), enabled(1_500)];
    expect(budgets).toEqual([full, full, half, half, enabled(6_000), least, undefined, undefined, undefined]);
  });

  test("the longest reply is the user's limit, the model's, or one that all models take", async () => {
    const limit = async (options: ConnectionOptions) => (await bodyOf({}, options)).body.max_tokens;
    expect(await limit({})).toBe(32_000);
    expect(await limit({ info: { maxOutput: 64_000 } })).toBe(64_000);
    expect(await limit({ info: { maxOutput: 64_000 }, settings: { maxOutputTokens: 9 } })).toBe(9);
    const capped = await bodyOf({ affordableOutput: 300 }, { settings: { maxOutputTokens: 900 } });
    expect(capped.raw).toEndWith('],"max_tokens":300}');
  });

  test("a reply is no longer than the window leaves room for, unless the window is larger than it is said to be", async () => {
    const limit = async (room: number) =>
      (await bodyOf({ room: () => room }, { info: { maxOutput: 64_000 } })).body.max_tokens;
    expect([await limit(64_000), await limit(30_000), await limit(0), await limit(-9)]).toEqual([
      64_000, 30_000, 64_000, 64_000,
    ]);
  });

  test.each<[string, string | undefined, object]>([
    ["https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", { "x-api-key": "sk-1", authorization: undefined }],
    ["https://api.anthropic.com/v1", "ANTHROPIC_AUTH_TOKEN", { "x-api-key": undefined, authorization: "Bearer sk-1" }],
    ["https://api.z.ai/api/anthropic/v1", "ZAI_API_KEY", { "x-api-key": "sk-1", authorization: "Bearer sk-1" }],
    ["https://notanthropic.com/v1", "ANTHROPIC_API_KEY", { "x-api-key": "sk-1", authorization: "Bearer sk-1" }],
  ])("the key for %s from %s goes where it is read", async (baseUrl, variable, headers) => {
    let sent: Record<string, string> = {};
    const { connectModel } = await import("../../lib/model/connect.ts");
    const model = connectModel({
      provider: { name: "test", baseUrl, keys: [], wire: "messages" },
      info: { provider: "test", name: "m", wire: "messages", contextWindow: 1 },
      key: { value: "sk-1", ...(variable && { variable }) },
      settings: {},
      streamIdleMs: 1_000,
      userAgent: "koda/test",
      fetch: async (_url, init) => {
        sent = init.headers;
        return new Response(ended("end_turn"), { headers: { "content-type": "text/event-stream" } });
      },
    });
    await converse(model);
    expect<object>({ "x-api-key": sent["x-api-key"], authorization: sent.authorization }).toEqual(headers);
    expect(sent["anthropic-version"]).toBe("2023-06-01");
  });

  test("Google has the model in the address, and the version in the body", async () => {
    let seen: { url: string; body: unknown } | undefined;
    const base = "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/anthropic";
    const model = connectTo(base, "messages", {
      info: { name: "claude-opus-4-6@20260205" },
      fetch: async (url, init) => {
        seen = { url, body: JSON.parse(init.body ?? "") };
        return new Response(ended("end_turn"), { headers: { "content-type": "text/event-stream" } });
      },
    });
    await converse(model);
    expect(seen?.url).toBe(`${base}/models/claude-opus-4-6%4020260205:streamRawPredict`);
    expect(seen?.body).toMatchObject({ anthropic_version: "vertex-2023-10-16", stream: true });
    expect(seen?.body).not.toHaveProperty("model");
    expect(wireOfPath(new URL(seen?.url ?? "").pathname)).toBe("messages");
  });

  test("the end of this request and of the one before are kept in the cache, beside tools and system prompt", async () => {
    const tools = [
      { name: "Read", about: "", input: { type: "object" } },
      { name: "Bash", about: "", input: { type: "object" } },
    ];
    const ids = Array.from({ length: 30 }, (_, n) => `a${n}`);
    const grown = [...hello.messages, called(...ids), ...ids.map(result)];
    const { raw: sent } = await bodyOf({ tools, messages: grown });
    const marked = sent.split(',"cache_control":{"type":"ephemeral"}').slice(0, -1);
    expect(marked).toHaveLength(4);
    const ends = ['"name":"Bash","description":"","input_schema":{"type":"object"}', '"text":"You are a test."'];
    for (const [index, end] of [...ends, '"text":"hello"', '"tool_use_id":"a29","content":"x"'].entries())
      expect(marked[index]).toEndWith(end);
  });

  test("a block that begins where another one is open ends that one", async () => {
    const use = (id: string) => start(0, { type: "tool_use", id, name: "Read", input: { path: id } });
    const events = await read(use("a"), use("b"), ended("tool_use"));
    expect(events.flatMap((event) => (event.type === "call" ? [event.call.id] : []))).toEqual(["a", "b"]);
  });

  test("an error's body is read as the provider writes it", async () => {
    const error = { type: "error", error: { type: "authentication_error", message: "invalid x-api-key" } };
    await using server = await startModelServer([status(401, error)]);
    await expect(converse(connectTo(server.url, "messages", { key: "sk-12345678" }))).rejects.toMatchObject({
      code: "credentials",
      message: expect.stringContaining('test refused the key from TEST_KEY: 401 "invalid x-api-key"'),
    });
  });
});
