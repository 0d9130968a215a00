import { describe, expect, test } from "bun:test";
import { customProvider } from "../../lib/model/configured.ts";
import { platformFetch } from "../../lib/model/fetch.ts";
import { modelsIn } from "../../lib/model/listed.ts";
import { askForModels } from "../../lib/model/listing.ts";
import { localWindow } from "../../lib/model/localwindow.ts";
import { builtInProviders, type Provider } from "../../lib/model/providers.ts";
import { failureOf } from "../support/failure.ts";

/** Entries as the providers' documentation has them, shortened. */
test.each<[string, unknown, object]>([
  [
    "OpenRouter",
    {
      data: [
        {
          id: "anthropic/claude-sonnet-5",
          context_length: 1_000_000,
          architecture: { input_modalities: ["text", "image"] },
          top_provider: { context_length: 1_000_000, max_completion_tokens: 128_000 },
          pricing: {
            prompt: "0.000002",
            completion: "0.00001",
            input_cache_read: "0.0000002",
            input_cache_write: "0.0000025",
          },
        },
      ],
    },
    {
      name: "anthropic/claude-sonnet-5",
      contextWindow: 1_000_000,
      maxOutput: 128_000,
      images: true,
      price: { input: 2, cached: 0.2, written: 2.5, output: 10 },
    },
  ],
  [
    "OpenRouter's router, whose price is that of the model it chooses",
    { data: [{ id: "openrouter/auto", context_length: 2_000_000, pricing: { prompt: "-1", completion: "-1" } }] },
    { name: "openrouter/auto", contextWindow: 2_000_000 },
  ],
  [
    "Groq",
    { data: [{ id: "openai/gpt-oss-120b", context_window: 131_072, max_completion_tokens: 65_536 }] },
    { name: "openai/gpt-oss-120b", contextWindow: 131_072, maxOutput: 65_536 },
  ],
  [
    "Mistral",
    { data: [{ id: "mistral-medium-3-5", max_context_length: 262_144, capabilities: { vision: true } }] },
    { name: "mistral-medium-3-5", contextWindow: 262_144, images: true },
  ],
  [
    "Together, whose list is the whole body",
    [{ id: "openai/gpt-oss-120b", type: "chat", context_length: 131_072, pricing: { input: 0.15, output: 0.6 } }],
    { name: "openai/gpt-oss-120b", contextWindow: 131_072, price: { input: 0.15, output: 0.6 } },
  ],
  [
    "Vercel",
    {
      data: [
        {
          id: "zai/glm-5.3",
          type: "language",
          context_window: 1_000_000,
          max_tokens: 128_000,
          pricing: { input: "0.0000014", output: "0.0000044", input_cache_read: "0.00000026" },
        },
      ],
    },
    {
      name: "zai/glm-5.3",
      contextWindow: 1_000_000,
      maxOutput: 128_000,
      price: { input: 1.4, cached: 0.26, output: 4.4 },
    },
  ],
  [
    "Hugging Face, whose router chooses a provider",
    {
      data: [
        {
          id: "zai-org/GLM-5",
          providers: [
            { provider: "one", context_length: 200_000, pricing: { input: 1, output: 3 } },
            { provider: "two", context_length: 131_072, pricing: { input: 0.9, output: 4 } },
            { provider: "three" },
          ],
        },
      ],
    },
    { name: "zai-org/GLM-5", contextWindow: 131_072, price: { input: 0.9, output: 4 } },
  ],
  [
    "Anthropic",
    { data: [{ id: "claude-sonnet-5", type: "model", max_input_tokens: 1_000_000, max_tokens: 128_000 }] },
    { name: "claude-sonnet-5", contextWindow: 1_000_000, maxOutput: 128_000 },
  ],
  ["Google", { data: [{ id: "models/gemini-3.8-flash", object: "model" }] }, { name: "gemini-3.8-flash" }],
  [
    "vLLM",
    { data: [{ id: "Qwen/Qwen3-8B", max_model_len: 40_960 }] },
    { name: "Qwen/Qwen3-8B", contextWindow: 40_960 },
  ],
])("the list of %s tells what it has", (_name, body, expected) => {
  expect(modelsIn(body)).toEqual([expected as { name: string }]);
});

test("entries of another kind, and what is no list, are left out", () => {
  const data = [{ id: "e", type: "embedding" }, { id: "i", type: "image" }, { name: "no id" }, 7, null, { id: "" }];
  expect(modelsIn({ data })).toEqual([]);
  for (const body of [undefined, null, 7, "x", {}, { data: "x" }, { data: { id: "x" } }])
    expect(modelsIn(body)).toEqual([]);
  expect(modelsIn([{ id: "odd", context_length: "big", pricing: { input: "free", output: {} } }])).toEqual([
    { name: "odd" },
  ]);
});

const row = (name: string) => builtInProviders.find((provider) => provider.name === name) ?? expect.unreachable(name);

type Seen = { path: string; headers: Record<string, string>; body: string };

function serve(answer: (path: string) => Response | Promise<Response>) {
  const seen: Seen[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      seen.push({ path: pathname + search, headers: request.headers.toJSON(), body: await request.text() });
      return await answer(pathname);
    },
  });
  return { seen, url: `http://127.0.0.1:${server.port}`, [Symbol.dispose]: () => void server.stop(true) };
}

async function ask(provider: Provider, options: { key?: string; limitMs?: number } = {}) {
  const { key, limitMs = 10_000 } = options;
  const info = { provider: provider.name, name: "x", wire: provider.wire, contextWindow: 128_000 };
  const endpoint = {
    provider,
    info,
    settings: {},
    fetch: platformFetch,
    streamIdleMs: limitMs,
    userAgent: "koda/test",
  };
  const withKey = key === undefined ? endpoint : { ...endpoint, key: { value: key, variable: "SOME_KEY" } };
  return await askForModels(withKey, new AbortController().signal);
}

describe("asking a provider for its models", () => {
  test("sends the headers of a request to the model", async () => {
    using server = serve(() => Response.json({ data: [{ id: "m" }] }));
    await ask({ ...row("groq"), baseUrl: `${server.url}/openai/v1` }, { key: "gsk-1234567" });
    await ask({ ...row("anthropic"), baseUrl: `${server.url}/v1` }, { key: "sk-ant-1234" });
    expect(server.seen[0]).toMatchObject({
      path: "/openai/v1/models",
      headers: { authorization: "Bearer gsk-1234567", "user-agent": "koda/test" },
    });
    expect(server.seen[0]?.headers).not.toHaveProperty("x-api-key");
    expect(server.seen[1]).toMatchObject({
      path: "/v1/models?limit=1000",
      headers: { "x-api-key": "sk-ant-1234", "anthropic-version": "2023-06-01" },
    });
  });

  test.each([
    [
      "a refused key",
      401,
      '{"error":{"message":"bad key sk-12345678"}}',
      "credentials",
      "refused the key from SOME_KEY",
    ],
    ["a provider that is down", 503, "", "unavailable", "is unavailable"],
    ["a limit of the rate", 429, '{"error":{"message":"slow down"}}', "rate_limit", "slow down"],
    ["a page", 200, "<html>", "request", "check the base URL"],
  ])("fails for %s with the code of a run", async (_what, status, body, code, words) => {
    using server = serve(() => new Response(body, { status }));
    const error = await failureOf(ask(customProvider("corp", `${server.url}/v1`), { key: "sk-12345678" }));
    expect(error).toMatchObject({ code });
    expect(error.message).toContain(words);
    expect(error.message).not.toContain("sk-12345678");
  });

  test("gives up on a server that is silent, or not there", async () => {
    using server = serve(() => new Promise<Response>(() => {}));
    const provider = customProvider("corp", server.url);
    expect(await failureOf(ask(provider, { limitMs: 50 }))).toMatchObject({ code: "silence" });
    const absent = customProvider("corp", "http://127.0.0.1:9/v1");
    expect(await failureOf(ask(absent))).toMatchObject({ code: "network" });
  });

  test("asks a server on this machine for each window that its list does not tell", async () => {
    using server = serve((path) => {
      if (path === "/v1/models") return Response.json({ data: [{ id: "small" }, { id: "large" }] });
      return Response.json(path === "/api/ps" ? { models: [{ model: "small", context_length: 4096 }] } : {});
    });
    expect(await ask({ ...row("ollama"), baseUrl: `${server.url}/v1` })).toEqual([
      { name: "small", contextWindow: 4096 },
      { name: "large" },
    ]);
    expect(server.seen.map(({ body }) => body).filter(Boolean)).toEqual(['{"model":"large"}']);
  });

  test("finds no list where there is none", async () => {
    using server = serve(() => new Response("", { status: 404 }));
    expect(await ask(customProvider("corp", server.url))).toBeUndefined();
    expect(await ask(row("bedrock"))).toBeUndefined();
  });
});

describe("the window of a model on this machine", () => {
  const windowAt = async (name: string, url: string, model: string) =>
    await localWindow({ ...row(name), baseUrl: `${url}/v1` }, model, { usual: 128_000 });

  const ollama = (loaded: object[], shown: object) =>
    serve((path) => Response.json(path === "/api/ps" ? { models: loaded } : shown));
  const info = { "general.architecture": "qwen3", "qwen3.context_length": 40_960, "qwen3.embedding_length": 1 };

  test.each<[string, object[], object, number | undefined]>([
    ["what it has allocated", [{ model: "qwen3:latest", context_length: 4096 }], {}, 4096],
    [
      "what its parameters say",
      [],
      { parameters: "stop x\nnum_ctx                        8192", model_info: info },
      8192,
    ],
    ["the most that the model can have", [{ model: "other", context_length: 1 }], { model_info: info }, 40_960],
    ["the usual size when the model can have more", [], { model_info: { "a.context_length": 1_000_000 } }, 128_000],
    ["nothing", [], {}, undefined],
  ])("is for Ollama %s", async (_what, loaded, shown, expected) => {
    using server = ollama(loaded, shown);
    expect(await windowAt("ollama", server.url, "qwen3")).toBe(expected);
  });

  test("is for LM Studio what is loaded, and for vLLM what it serves", async () => {
    using studio = serve(() =>
      Response.json({ data: [{ id: "q", max_context_length: 131_072, loaded_context_length: 16_384 }] }),
    );
    expect(await windowAt("lmstudio", studio.url, "q")).toBe(16_384);
    expect(studio.seen[0]?.path).toBe("/api/v0/models");
    using vllm = serve(() => Response.json({ data: [{ id: "q", max_model_len: 32_768 }] }));
    expect(await windowAt("vllm", vllm.url, "q")).toBe(32_768);
    expect(await windowAt("vllm", vllm.url, "other")).toBeUndefined();
  });

  test("is not asked for elsewhere, and its failure stays without consequence", async () => {
    const never = { ...row("ollama"), baseUrl: "http://ollama.invalid:11434/v1" };
    const fetch = () => expect.unreachable("asked");
    expect(await localWindow(never, "q", { usual: 1, fetch })).toBeUndefined();
    using broken = serve(() => new Response("{", { status: 500 }));
    expect(await windowAt("ollama", broken.url, "q")).toBeUndefined();
    expect(await windowAt("ollama", "http://127.0.0.1:9", "q")).toBeUndefined();
    expect(await windowAt("groq", broken.url, "q")).toBeUndefined();
  });
});
