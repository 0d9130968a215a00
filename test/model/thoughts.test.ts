import { expect, test } from "bun:test";
import type { Wire } from "../../lib/config/config.ts";
import { withFallbacks } from "../../lib/model/fallback.ts";
import type { AssistantMessage, Message } from "../../lib/model/message.ts";
import type { ModelEvent, ModelInfo } from "../../lib/model/model.ts";
import { builtInProviders } from "../../lib/model/providers.ts";
import { connectTo, converse, hello } from "../support/model-connection.ts";
import { frame } from "../support/model-frame.ts";
import { messagesEvent } from "../support/model-messages.ts";
import { problem, raw, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { chatChunk, responsesEvent } from "../support/model-wire.ts";

/** A provider, the frames in which it thinks and calls Read, and the reply as the next request has to hold it. */
type Row = [provider: string, wire: Wire, frames: readonly string[], reply: readonly object[], source: string];

const readCall = { id: "callaaaaa", type: "function", function: { name: "Read", arguments: '{"path": "a"}' } };
const chatCall = (extra: object = {}) => chatChunk({ tool_calls: [{ index: 0, ...readCall, ...extra }] }, "tool_calls");
const chatRow = (provider: string, deltas: readonly object[], fields: object, source: string): Row => [
  provider,
  "chat",
  [...deltas.map((delta) => chatChunk(delta)), chatCall()],
  [{ role: "assistant", content: null, tool_calls: [readCall], ...fields }],
  source,
];
const inField = (provider: string, field: string, source: string): Row =>
  chatRow(provider, [{ [field]: "look " }, { [field]: "first" }], { [field]: "look first" }, source);

const responsesRow = (provider: string, text: string, source: string): Row => {
  const summary = text === "" ? [] : [{ type: "summary_text", text }];
  const thought = { type: "reasoning", summary, encrypted_content: "gAAA" };
  const called = { type: "function_call", call_id: "callaaaaa", name: "Read", arguments: '{"path": "a"}' };
  return [
    provider,
    "responses",
    [
      responsesEvent("response.output_item.done", { output_index: 0, item: { ...thought, id: "rs_1" } }),
      responsesEvent("response.output_item.done", { output_index: 1, item: { ...called, id: "fc_1" } }),
      responsesEvent("response.completed", { response: { status: "completed" } }),
    ],
    [thought, called],
    source,
  ];
};

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
 * The source of a row says that the provider takes the thought back in the field in which it came. Two say less: that
 * of qwen has the field alone, and LM Studio leaves the matter to the template of the model. No provider of these asks
 * to leave a thought out of a later turn: those that do not want it there ignore it.
 */
const rows: readonly Row[] = [
  inField("deepseek", "reasoning_content", "https://api-docs.deepseek.com/guides/thinking_mode"),
  inField("qwen", "reasoning_content", "https://www.alibabacloud.com/help/en/model-studio/deep-thinking"),
  inField(
    "moonshot",
    "reasoning_content",
    "https://platform.kimi.ai/docs/guide/use-kimi-k2-thinking-model, https://github.com/n8n-io/n8n/issues/29142",
  ),
  inField("zai", "reasoning_content", "https://docs.z.ai/guides/capabilities/thinking-mode"),
  inField(
    "fireworks",
    "reasoning_content",
    "https://docs.fireworks.ai/guides/reasoning, https://docs.fireworks.ai/fine-tuning/thinking-history",
  ),
  inField(
    "nvidia",
    "reasoning_content",
    "https://github.com/anomalyco/opencode/issues/13584 and, for the engine below, the row of vllm",
  ),
  inField("lmstudio", "reasoning_content", "https://github.com/lmstudio-ai/lmstudio-js/issues/269"),
  inField(
    "groq",
    "reasoning",
    "https://github.com/groq/groq-python/blob/main/src/groq/types/chat/chat_completion_assistant_message_param.py",
  ),
  inField("cerebras", "reasoning", "https://github.com/aaif-goose/goose/pull/10362"),
  inField(
    "together",
    "reasoning",
    "https://github.com/togethercomputer/skills/blob/main/skills/together-chat-completions/references/reasoning-models.md",
  ),
  inField("ollama", "reasoning", "https://github.com/ollama/ollama/blob/main/openai/openai.go"),
  inField("vllm", "reasoning", "https://docs.vllm.ai/en/v0.17.1/features/interleaved_thinking/"),
  chatRow(
    "mistral",
    [
      { content: [{ type: "thinking", thinking: [{ type: "text", text: "look " }] }] },
      { content: [{ type: "thinking", thinking: [{ type: "text", text: "first" }] }] },
    ],
    { content: [{ type: "thinking", thinking: [{ type: "text", text: "look first" }] }] },
    "https://docs.mistral.ai/capabilities/reasoning/, https://socket.dev/npm/package/@ai-sdk/mistral/diff/3.0.52",
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
    "https://openrouter.ai/docs/use-cases/reasoning-tokens",
  ),
  chatRow(
    "minimax",
    [{ content: "<thi" }, { content: "nk>look first</th" }, { content: "ink>\n\n" }, { content: "Now." }],
    { content: "<think>look first</think>\n\nNow." },
    "https://platform.minimax.io/docs/api-reference/text-openai-api",
  ),
  chatRow(
    "minimax",
    [{ reasoning_details: [{ type: "reasoning.text", text: "look first" }] }],
    { reasoning_details: [{ type: "reasoning.text", text: "look first" }] },
    "https://platform.minimax.io/docs/api-reference/text-openai-api",
  ),
  [
    "gemini",
    "chat",
    [chatCall({ extra_content: signed })],
    [{ role: "assistant", content: null, tool_calls: [{ ...readCall, extra_content: signed }] }],
    "https://ai.google.dev/gemini-api/docs/thought-signatures",
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
    "https://github.com/1jehuang/jcode/issues/1040",
  ],
  responsesRow("openai", "look first", "https://github.com/vercel/ai/pull/7014"),
  responsesRow("xai", "look first", "https://docs.x.ai/developers/model-capabilities/text/best-practices"),
  // A provider that keeps nothing of a request sends no summary.
  responsesRow("xai", "", "https://github.com/vercel/ai/pull/14418"),
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
    "https://platform.claude.com/docs/en/build-with-claude/thinking",
  ],
  // Claude Sonnet 5 keeps the text of its thoughts for itself unless it is asked for it.
  [
    "anthropic",
    "messages",
    [
      ...block(0, { type: "thinking", thinking: "", signature: "" }, { type: "signature_delta", signature: "EsEC" }),
      ...block(1, { type: "text", text: "" }, { type: "text_delta", text: "Right." }),
      ...toolUse,
      ...messagesEnd,
    ],
    [
      {
        role: "assistant",
        content: [{ type: "thinking", thinking: "", signature: "EsEC" }, { type: "text", text: "Right." }, usedTool],
      },
    ],
    "https://github.com/vercel/ai/blob/main/packages/anthropic/src/__fixtures__/anthropic-claude-sonnet-5-reasoning-generic.chunks.txt",
  ],
  // Without a stream; the call says who makes it.
  [
    "anthropic",
    "messages",
    [
      frame({
        type: "message",
        role: "assistant",
        content: [
          { type: "thinking", thinking: "look first", signature: "Eq4C" },
          { type: "tool_use", id: "callaaaaa", name: "Read", input: { path: "a" }, caller: { type: "direct" } },
        ],
        stop_reason: "tool_use",
      }),
    ],
    [{ role: "assistant", content: [{ type: "thinking", thinking: "look first", signature: "Eq4C" }, usedTool] }],
    "https://github.com/vercel/ai/blob/main/packages/anthropic/src/__fixtures__/issue-13430-thinking-tool-call.json",
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
  ["xai", "responses", "", "Could not decrypt the provided encrypted_content."],
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
