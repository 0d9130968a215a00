import { expect, test } from "bun:test";
import type { Wire } from "../../lib/config/config.ts";
import { withFallbacks } from "../../lib/model/fallback.ts";
import type { AssistantMessage, Message } from "../../lib/model/message.ts";
import type { ModelEvent, ModelInfo } from "../../lib/model/model.ts";
import { builtInProviders } from "../../lib/model/providers.ts";
import { connectTo, converse, hello } from "../support/model-connection.ts";
import { messagesEvent } from "../support/model-messages.ts";
import { problem, raw, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { chatChunk, responsesEvent } from "../support/model-wire.ts";

/** A provider, the frames in which it thinks and calls Read, and the reply as the next request has to hold it. */
type Row = [provider: string, wire: Wire, frames: readonly string[], reply: readonly object[]];

const readCall = { id: "callaaaaa", type: "function", function: { name: "Read", arguments: '{"path": "a"}' } };
const chatCall = (extra: object = {}) => chatChunk({ tool_calls: [{ index: 0, ...readCall, ...extra }] }, "tool_calls");
const chatRow = (provider: string, deltas: readonly object[], fields: object): Row => [
  provider,
  "chat",
  [...deltas.map((delta) => chatChunk(delta)), chatCall()],
  [{ role: "assistant", content: null, tool_calls: [readCall], ...fields }],
];
const inField = (provider: string, field: string): Row =>
  chatRow(provider, [{ [field]: "look " }, { [field]: "first" }], { [field]: "look first" });

const signed = { google: { thought_signature: "EjQKMgEMOdbH/w==" } };
const block = (index: number, start: object, ...deltas: readonly object[]) => [
  messagesEvent({ type: "content_block_start", index, content_block: start }),
  ...deltas.map((delta) => messagesEvent({ type: "content_block_delta", index, delta })),
  messagesEvent({ type: "content_block_stop", index }),
];
const toolUse = block(
  2,
  { type: "tool_use", id: "callaaaaa", name: "Read", input: {} },
  { type: "input_json_delta", partial_json: '{"path": "a"}' },
);
const messagesEnd = [
  messagesEvent({ type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 9 } }),
  messagesEvent({ type: "message_stop" }),
];
const usedTool = { type: "tool_use", id: "callaaaaa", name: "Read", input: { path: "a" } };

/**
 * The field in which a thought comes is in recordings of deepseek, qwen, moonshot, xai, cerebras, mistral, openai and
 * anthropic, and in reports of users for gemini and vertex. The other rows were written without a recording, and none
 * shows that the provider takes the field back.
 */
const rows: readonly Row[] = [
  inField("deepseek", "reasoning_content"),
  inField("qwen", "reasoning_content"),
  inField("moonshot", "reasoning_content"),
  inField("zai", "reasoning_content"),
  inField("xai", "reasoning_content"),
  inField("fireworks", "reasoning_content"),
  inField("nvidia", "reasoning_content"),
  inField("lmstudio", "reasoning_content"),
  inField("groq", "reasoning"),
  inField("cerebras", "reasoning"),
  inField("together", "reasoning"),
  inField("ollama", "reasoning"),
  inField("vllm", "reasoning"),
  chatRow(
    "mistral",
    [
      { content: [{ type: "thinking", thinking: [{ type: "text", text: "look " }] }] },
      { content: [{ type: "thinking", thinking: [{ type: "text", text: "first" }] }] },
    ],
    { content: [{ type: "thinking", thinking: [{ type: "text", text: "look first" }] }] },
  ),
  chatRow(
    "openrouter",
    [
      { reasoning: "look ", reasoning_details: [{ type: "reasoning.text", index: 0, text: "look ", signature: null }] },
      { reasoning: "first", reasoning_details: [{ type: "reasoning.text", index: 0, text: "first" }] },
      { reasoning_details: [{ type: "reasoning.text", index: 0, signature: "c2lnbmVk" }] },
      { reasoning_details: [{ type: "reasoning.encrypted", index: 1, id: "callaaaaa", data: "Z2VtaW5p" }] },
    ],
    {
      reasoning_details: [
        { type: "reasoning.text", index: 0, text: "look first", signature: "c2lnbmVk" },
        { type: "reasoning.encrypted", index: 1, id: "callaaaaa", data: "Z2VtaW5p" },
      ],
    },
  ),
  chatRow("minimax", [{ reasoning_details: [{ type: "reasoning.text", text: "look first" }] }], {
    reasoning_details: [{ type: "reasoning.text", text: "look first" }],
  }),
  [
    "gemini",
    "chat",
    [chatCall({ extra_content: signed })],
    [{ role: "assistant", content: null, tool_calls: [{ ...readCall, extra_content: signed }] }],
  ],
  [
    "vertex",
    "chat",
    [
      chatChunk({ content: "Right." }),
      chatChunk({ extra_content: { vertex: { thought_signature: "dHg=" } } }),
      chatCall(),
    ],
    [
      {
        role: "assistant",
        content: "Right.",
        extra_content: { vertex: { thought_signature: "dHg=" } },
        tool_calls: [readCall],
      },
    ],
  ],
  [
    "openai",
    "responses",
    [
      responsesEvent("response.output_item.done", {
        output_index: 0,
        item: { type: "reasoning", summary: [{ type: "summary_text", text: "look first" }], encrypted_content: "gAAA" },
      }),
      responsesEvent("response.output_item.done", {
        output_index: 1,
        item: { type: "function_call", call_id: "callaaaaa", name: "Read", arguments: '{"path": "a"}' },
      }),
      responsesEvent("response.completed", { response: { status: "completed" } }),
    ],
    [
      { type: "reasoning", summary: [{ type: "summary_text", text: "look first" }], encrypted_content: "gAAA" },
      { type: "function_call", call_id: "callaaaaa", name: "Read", arguments: '{"path": "a"}' },
    ],
  ],
  [
    "anthropic",
    "messages",
    [
      ...block(
        0,
        { type: "thinking", thinking: "", signature: "" },
        { type: "thinking_delta", thinking: "look " },
        { type: "thinking_delta", thinking: "first" },
        { type: "signature_delta", signature: "EqQBCkYI/+==" },
      ),
      ...block(1, { type: "redacted_thinking", data: "EmwKAhgB+/=" }),
      ...toolUse,
      ...messagesEnd,
    ],
    [
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "look first", signature: "EqQBCkYI/+==" },
          { type: "redacted_thinking", data: "EmwKAhgB+/=" },
          usedTool,
        ],
      },
    ],
  ],
];

function nextMessages(events: readonly ModelEvent[]): Message[] {
  const parts = events.flatMap((event): AssistantMessage["parts"] => {
    if (event.type === "thought") return [event.part];
    if (event.type === "text") return [{ type: "text", text: event.text } as const];
    return event.type === "call" ? [event.call] : [];
  });
  const text = { type: "text", text: "contents" } as const;
  return [
    ...hello.messages,
    { role: "assistant", parts },
    { role: "tool", call: "callaaaaa", tool: "Read", ok: true, parts: [text] },
  ];
}

/** The reply in a request's body. */
function replyIn(wire: Wire, body: Record<string, unknown>): unknown {
  const messages = (wire === "responses" ? body.input : body.messages) as { role?: string; type?: string }[];
  return messages.filter(({ role, type }) => role === "assistant" || type === "reasoning" || type === "function_call");
}

function quirksOf(provider: string) {
  const quirks = builtInProviders.find(({ name }) => name === provider)?.quirks;
  return quirks && { quirks };
}

test.each(rows)("what %s thought goes back as it came", async (provider, wire, frames, reply) => {
  await using server = await startModelServer([raw(frames), say("done")], { strict: wire !== "chat" });
  const info: Partial<ModelInfo> = { provider, name: "thinker" };
  const events = await converse(connectTo(server.url, wire, { info, ...quirksOf(provider) }));
  const request = { ...hello, messages: nextMessages(events) };
  await converse(connectTo(server.url, wire, { info, ...quirksOf(provider) }), request);
  expect(replyIn(wire, server.requests[1]?.body ?? {})).toEqual(reply);
  expect(server.problems).toEqual([]);
});

test.each(rows)("what %s thought does not go to another model", async (provider, wire, frames) => {
  await using server = await startModelServer([raw(frames), say("done")], { strict: wire !== "chat" });
  const events = await converse(connectTo(server.url, wire, { info: { provider, name: "thinker" } }));
  await converse(connectTo(server.url, wire, { info: { provider, name: "other" } }), {
    ...hello,
    messages: nextMessages(events),
  });
  expect(server.requests[1]?.raw).not.toMatch(
    /look first|signature|reasoning"|reasoning_d|encrypted_content":|redacted/,
  );
});

test.each<[string, Wire, string, string]>([
  ["groq", "chat", "reasoning_content", "'messages.1' : property 'reasoning_content' is unsupported"],
  ["cerebras", "chat", "", "'messages.1' : property 'reasoning' is unsupported"],
  ["gemini", "chat", "extra_content", "Invalid value at 'messages[1].tool_calls': thought_signature is not valid"],
  ["anthropic", "messages", "", "messages.1.content.0: Invalid `signature` in `thinking` block"],
  ["openai", "responses", "", "The encrypted content gAAA...DQ== could not be verified."],
])("thoughts that %s refuses over %s are left out from then on", async (provider, wire, field, message) => {
  const row = rows.find(([name, , , [reply]]) => name === provider || (field !== "" && field in (reply ?? {})));
  await using server = await startModelServer([raw(row?.[2] ?? []), problem(400, message), say("done"), say("again")]);
  const info = { provider, name: "thinker", wire, contextWindow: 100_000 };
  const notices: string[] = [];
  const connect = (known: ModelInfo) => connectTo(server.url, wire, { info: known });
  const model = withFallbacks(connect, { info, settings: {}, onFallback: ({ message }) => notices.push(message) });
  const request = { ...hello, messages: nextMessages(await converse(model)) };
  expect((await converse(model, request)).at(-1)).toMatchObject({ type: "end", reason: "stop" });
  await converse(model, request);

  expect(notices).toEqual([expect.stringContaining(message)]);
  const [, refused, taken, next] = server.requests;
  expect(refused?.raw).toMatch(/look first|signature/);
  for (const later of [taken, next]) expect(later?.raw).not.toMatch(/look first|signature/);
});

test("another mistake in a request is not blamed on thoughts", async () => {
  await using server = await startModelServer([problem(400, "Unsupported parameter: 'reasoning_effort'")]);
  const info = { provider: "test", name: "scripted", wire: "chat", contextWindow: 1 } as const;
  const connect = () => connectTo(server.url, "chat");
  const model = withFallbacks(connect, { info, settings: {}, onFallback: () => expect.unreachable() });
  await expect(converse(model)).rejects.toMatchObject({ httpStatus: 400, parameter: "reasoning_effort" });
  expect(server.requests).toHaveLength(1);
});

test.each([
  ["deepseek", "The `reasoning_content` in the thinking mode must be passed back to the API."],
  ["moonshot", "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"],
])("a thought that %s misses is no refused thought", async (provider, message) => {
  const [, , frames] = rows.find(([name]) => name === provider) ?? expect.unreachable(provider);
  await using server = await startModelServer([raw(frames), problem(400, message)]);
  const info = { provider, name: "thinker", wire: "chat", contextWindow: 100_000 } as const;
  const connect = (known: ModelInfo) => connectTo(server.url, "chat", { info: known });
  const model = withFallbacks(connect, { info, settings: {}, onFallback: () => expect.unreachable() });
  const request = { ...hello, messages: nextMessages(await converse(model)) };
  await expect(converse(model, request)).rejects.toMatchObject({ httpStatus: 400, code: "request" });
  expect(server.requests).toHaveLength(2);
});
