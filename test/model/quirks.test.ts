import { expect, test } from "bun:test";
import type { Message } from "../../lib/model/message.ts";
import { builtInProviders, type Provider } from "../../lib/model/providers.ts";
import { connectTo, converse, hello } from "../support/model-connection.ts";
import { say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";

const id = "call_0123456789abcdef";

/** A thought, a call and its result, as another provider left them. */
const worked: readonly Message[] = [
  ...hello.messages,
  {
    role: "assistant",
    parts: [
      { type: "thinking", text: "look first" },
      { type: "call", id, tool: "Read", arguments: '{"path":"a"}' },
    ],
  },
  { role: "tool", call: id, tool: "Read", ok: true, parts: [{ type: "text", text: "empty" }] },
];

type Differences = { limit: string; usage: boolean; thinking: string | undefined; idLength: number };

/** How the requests of a provider differ from each other; the scripted server checks that they agree in the rest. */
const usual: Differences = { limit: "max_tokens", usage: true, thinking: undefined, idLength: id.length };
const modern = { ...usual, limit: "max_completion_tokens" };
const echoing = { ...usual, thinking: "look first" };

const expected: Readonly<Record<string, Differences>> = {
  gemini: usual,
  openrouter: usual,
  groq: modern,
  deepseek: echoing,
  mistral: { ...usual, usage: false, idLength: 9 },
  together: usual,
  fireworks: usual,
  minimax: modern,
  moonshot: { ...echoing, limit: modern.limit },
  zai: usual,
  qwen: usual,
  cerebras: modern,
  nvidia: usual,
  vercel: usual,
  bedrock: modern,
  vertex: usual,
  huggingface: usual,
  ollama: usual,
  lmstudio: usual,
  vllm: usual,
};

const chatting = builtInProviders.filter(({ wire }) => wire === "chat");

test("every provider with Chat Completions has its row here", () => {
  expect(chatting.map(({ name }) => name)).toEqual(Object.keys(expected));
});

test.each(chatting.map((provider): [string, Provider] => [provider.name, provider]))(
  "requests to %s are as its documentation has them",
  async (name, { quirks = {} }) => {
    await using server = await startModelServer([say("fine")]);
    const model = connectTo(server.url, "chat", { quirks, settings: { maxOutputTokens: 7 } });
    await converse(model, { ...hello, messages: worked });
    expect(server.problems).toEqual([]);
    const { body } = await server.nextRequest();
    const messages = body["messages"] as { reasoning_content?: string; tool_calls?: { id: string }[] }[];
    const reply = messages.find(({ tool_calls: calls }) => calls !== undefined);
    expect({
      limit: Object.keys(body).find((key) => body[key] === 7),
      usage: body["stream_options"] !== undefined,
      thinking: reply?.reasoning_content,
      idLength: reply?.tool_calls?.[0]?.id.length,
    }).toEqual(expected[name] ?? expect.unreachable(name));
  },
);

test.each(chatting.map((provider): [string, Provider] => [provider.name, provider]))(
  "a call that came without a thought goes back to %s as it requires",
  async (name, { quirks = {} }) => {
    await using server = await startModelServer([say("fine")]);
    const model = connectTo(server.url, "chat", { quirks });
    const thoughtless = worked.map((message) => ({
      ...message,
      parts: message.parts.filter(({ type }) => type !== "thinking"),
    })) as Message[];
    await converse(model, { ...hello, messages: thoughtless });
    const { body } = await server.nextRequest();
    const messages = body["messages"] as { reasoning_content?: string; tool_calls?: unknown }[];
    const reply = messages.find(({ tool_calls: calls }) => calls !== undefined);
    expect(reply?.reasoning_content).toBe(expected[name]?.thinking && " ");
  },
);
