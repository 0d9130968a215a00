import { describe, expect, test } from "bun:test";
import type { ProviderConfig, Wire } from "../../lib/config/config.ts";
import type { Fetch } from "../../lib/model/fetch.ts";
import type { Env } from "../../lib/config/paths.ts";
import { requestUrl } from "../../lib/model/address.ts";
import { customProvider, providersOf } from "../../lib/model/configured.ts";
import { builtInProviders } from "../../lib/model/providers.ts";
import { type ModelChoice, type ResolvedModel, resolveModel } from "../../lib/model/resolve.ts";
import { supportedSettings } from "../../lib/model/settings.ts";
import { failureOf } from "../support/failure.ts";

/** Nobody answers on loopback, whatever runs on the machine of the test. */
const nobody: Fetch = async () => {
  throw new TypeError("ECONNREFUSED");
};

type Given = {
  env?: Env;
  providers?: Record<string, Partial<ProviderConfig>>;
  fetch?: Fetch;
  offline?: boolean;
};

function surroundings({ env = {}, providers = {}, fetch = nobody, offline = false }: Given) {
  const rows = Object.entries(providers).map(([name, config]) => [name, { models: new Map(), ...config }] as const);
  const modelDefaults = { contextWindow: 128_000, streamIdleMs: 300_000 };
  return { config: { providers: new Map(rows), modelDefaults }, env, fetch, offline, writable: [] };
}

async function resolve(wanted: ModelChoice, given: Given = {}): Promise<ResolvedModel> {
  return await resolveModel(wanted, surroundings(given));
}

const problemOf = (wanted: ModelChoice, given: Given = {}) => failureOf(resolve(wanted, given));

const openai = { OPENAI_API_KEY: "sk-1" };
const corp = { baseUrl: "https://llm.corp.example/v1/", apiKeyEnv: "CORP_KEY" };

test.each<[missing: string, env: Env, way: string]>([
  [
    "its URL",
    { AWS_BEARER_TOKEN_BEDROCK: "k" },
    "set AWS_REGION or AWS_DEFAULT_REGION, or AWS_BEDROCK_BASE_URL, to use bedrock",
  ],
  ["a model", { AZURE_OPENAI_API_KEY: "k", AZURE_RESOURCE_NAME: "r" }, "name a model of azure, as in -m azure/MODEL\n"],
  ["its name", { HF_TOKEN: "k" }, "name a model of huggingface, as in -m huggingface/openai/gpt-oss-120b\n"],
  [
    "both",
    { AZURE_OPENAI_API_KEY: "k" },
    "name a model of azure, as in -m azure/MODEL, and set AZURE_RESOURCE_NAME, or",
  ],
])("where a provider has a key but lacks %s, the message says so", async (_, env, way) => {
  const { code, message } = await problemOf({}, { env });
  expect(code).toBe("credentials");
  expect(message).toContain(way);
  expect(message).not.toContain("no API key is set");
});

describe("the model that a name stands for", () => {
  const own = "https://llm.corp.example/v1";
  const loopback = "http://127.0.0.1:8080/v1";
  const known = { ...corp, models: new Map([["big", {}]]) };
  const both = { CORP_KEY: "k", ...openai };

  test.each<[string, ModelChoice | string, Given, string]>([
    ["provider and model", "openai/gpt-4.1", { env: openai }, "openai gpt-4.1 responses"],
    [
      "a model with slashes",
      "openrouter/anthropic/claude-sonnet-4",
      { env: { OPENROUTER_API_KEY: "k" } },
      "openrouter anthropic/claude-sonnet-4 chat",
    ],
    ["a provider alone", "mistral", { env: { MISTRAL_API_KEY: "k" } }, "mistral mistral-medium-3-5 chat"],
    ["a local model, without a key", "ollama/qwen3:8b", {}, "ollama qwen3:8b chat"],
    ["another wire", { model: "openai/gpt-4.1", wire: "chat" }, { env: openai }, "openai gpt-4.1 chat"],
    [
      "a whole name with a slash, where names have slashes",
      "nosuch/gpt-5",
      { env: { GROQ_API_KEY: "k" } },
      "groq nosuch/gpt-5 chat",
    ],
    [
      "a whole name with a slash, at an address of the user's own",
      "Qwen/Qwen3",
      { env: { CORP_KEY: "k" }, providers: { corp } },
      "corp Qwen/Qwen3 chat",
    ],
    [
      "a whole name with a slash, at an address that a variable gives",
      "Qwen/Qwen3",
      { env: { ...openai, OPENAI_BASE_URL: own } },
      "openai Qwen/Qwen3 responses",
    ],
    ["nothing, with one key", {}, { env: { XAI_API_KEY: "k" } }, "xai grok-4.6 responses"],
    ["nothing, with several keys", {}, { env: { XAI_API_KEY: "k", ...openai } }, "openai gpt-6-sol responses"],
    [
      "a bare name that a configured provider describes",
      "big",
      { env: both, providers: { corp: known, other: corp } },
      "corp big chat",
    ],
    ["a bare name with one configured provider", "small", { env: both, providers: { corp } }, "corp small chat"],
    [
      "a bare name that the catalog knows",
      "deepseek-chat",
      { env: { ...openai, DEEPSEEK_API_KEY: "k" } },
      "deepseek deepseek-chat chat",
    ],
    ["a bare name with one key", "brand-new", { env: openai }, "openai brand-new responses"],
    ["nothing, with one model configured", {}, { env: both, providers: { corp: known } }, "corp big chat"],
    ["a base URL", { model: "llama", baseUrl: loopback }, {}, "custom llama chat"],
    ["a base URL and a name with a slash", { model: "meta/x", baseUrl: loopback }, {}, "custom meta/x chat"],
    ["a base URL for a provider", { model: "openai/gpt-4.1", baseUrl: loopback }, {}, "openai gpt-4.1 responses"],
    ["the demo", "demo", {}, "demo scripted chat"],
    ["a replay without a key", "openai/gpt-4.1", { offline: true }, "openai gpt-4.1 responses"],
    ["a replay of a provider that has gone", "gone/x/y", { offline: true }, "gone x/y chat"],
    ["a replay of nothing known", {}, { offline: true }, "replay unknown chat"],
  ])("%s", async (_name, wanted, given, expected) => {
    const { info } = await resolve(typeof wanted === "string" ? { model: wanted } : wanted, given);
    expect(`${info.provider} ${info.name} ${info.wire}`).toBe(expected);
  });

  test("a server on loopback is found when nothing is configured", async () => {
    const asked: string[] = [];
    const fetch: Fetch = async (url) => {
      asked.push(url);
      if (!url.includes(":1234/")) throw new TypeError("ECONNREFUSED");
      return Response.json({ data: [{ id: "text-embedding-nomic" }, { id: "qwen3-coder" }] });
    };
    expect((await resolve({}, { fetch })).info).toMatchObject({ provider: "lmstudio", name: "qwen3-coder" });
    expect(asked.toSorted()).toEqual([
      "http://127.0.0.1:11434/v1/models",
      "http://127.0.0.1:1234/api/v0/models",
      "http://127.0.0.1:1234/v1/models",
    ]);
  });

  test("a server on loopback that is something else is no provider", async () => {
    for (const body of ["<html>", '{"data":"no"}', '{"data":[{"id":7}]}', "[]"]) {
      expect((await problemOf({}, { fetch: async () => new Response(body) })).code).toBe("credentials");
    }
    const broken = async () => new Response('{"data":[{"id":"x"}]}', { status: 500 });
    expect((await problemOf({}, { fetch: broken })).code).toBe("credentials");
  });

  test("a server on loopback that does not answer is not waited for", async () => {
    const fetch: Fetch = (_url, { signal }) =>
      new Promise((_answer, reject) => signal.addEventListener("abort", reject));
    expect((await problemOf({}, { fetch })).code).toBe("credentials");
  });

  test.each<[string, ModelChoice, Given, string, string]>([
    ["nothing at all", {}, {}, "credentials", "-m demo"],
    ["nothing at all", {}, {}, "credentials", "OPENAI_API_KEY"],
    ["nothing at all", {}, {}, "credentials", "ollama"],
    ["a provider without its key", { model: "groq/x" }, {}, "credentials", "GROQ_API_KEY"],
    [
      "a provider without its key, whose model another one has under the whole name",
      { model: "qwen/qwen3-32b" },
      { env: { GROQ_API_KEY: "k" } },
      "credentials",
      "groq has a model of that name too: groq/qwen/qwen3-32b",
    ],
    [
      "a provider whose URL needs a variable",
      { model: "bedrock" },
      { env: { AWS_BEARER_TOKEN_BEDROCK: "k" } },
      "config",
      "set AWS_REGION or AWS_DEFAULT_REGION, or AWS_BEDROCK_BASE_URL",
    ],
    [
      "a variable that gives no URL",
      { model: "bedrock" },
      { env: { AWS_BEARER_TOKEN_BEDROCK: "k", AWS_REGION: "us east/1" } },
      "config",
      "AWS_REGION",
    ],
    [
      "only a token that serves other programs",
      {},
      { env: { HF_TOKEN: "k", GOOGLE_OAUTH_ACCESS_TOKEN: "k" } },
      "credentials",
      "demo",
    ],
    ["an empty key", { model: "groq/x" }, { env: { GROQ_API_KEY: "  " } }, "credentials", "GROQ_API_KEY"],
    [
      "a named variable that is not set",
      { model: "groq/x", apiKeyEnv: "MINE" },
      { env: { GROQ_API_KEY: "k" } },
      "credentials",
      "MINE",
    ],
    ["a bare name and no key", { model: "gpt-9" }, {}, "usage", '"gpt-9"'],
    ["a provider without a default model", { model: "azure" }, {}, "usage", "write azure/MODEL"],
    ["a provider and no model", { model: "groq/" }, {}, "usage", 'has the model "groq/": write PROVIDER/MODEL'],
    ["a misspelt provider", { model: "opnai/gpt-4.1" }, { env: openai }, "usage", '"openai/gpt-4.1"'],
    ["an unknown provider, with a key", { model: "nosuch/gpt-5" }, { env: openai }, "usage", 'provider "nosuch"'],
    [
      "a misspelling of the configured provider",
      { model: "crop/big" },
      { env: { CORP_KEY: "k" }, providers: { corp } },
      "usage",
      '(did you mean "corp/big"?)',
    ],
    ["a key in curly quotes", { model: "groq/x" }, { env: { GROQ_API_KEY: "“k”" } }, "credentials", "U+201C"],
    ["a base URL without a model", { baseUrl: "http://127.0.0.1/v1" }, {}, "usage", "-m NAME"],
    [
      "a configured provider without an address",
      { model: "corp/x" },
      { providers: { corp: { apiKeyEnv: "K" } } },
      "config",
      "providers.corp.base_url",
    ],
  ])("%s is an error that says what to do", async (_name, wanted, given, code, hint) => {
    const error = await problemOf(wanted, given);
    expect(error.code).toBe(code as typeof error.code);
    expect(error.message).toContain(hint);
  });
});

describe("a provider's key", () => {
  test("comes from its variables, the first that is set", async () => {
    const env = { GOOGLE_API_KEY: " second \n" };
    expect((await resolve({ model: "gemini/x" }, { env })).key).toEqual({
      value: "second",
      variable: "GOOGLE_API_KEY",
    });
    const both = { ...env, GEMINI_API_KEY: "first" };
    expect((await resolve({ model: "gemini/x" }, { env: both })).key?.value).toBe("first");
  });

  test("is not sent to another address than its own", async () => {
    const endpoint = { model: "openai/gpt-4.1", baseUrl: "http://127.0.0.1:8080/v1" };
    expect((await resolve(endpoint, { env: openai })).key).toBeUndefined();
    const moved = { openai: { baseUrl: "https://proxy.example/v1" } };
    expect((await resolve({ model: "openai/gpt-4.1" }, { env: openai, providers: moved })).key).toBeUndefined();
    const named = { ...endpoint, apiKeyEnv: "OPENAI_API_KEY" };
    expect((await resolve(named, { env: openai })).key?.value).toBe("sk-1");
  });
});

describe("the table of providers", () => {
  test("has every provider of the contract once, each with an address and a variable or no need of one", () => {
    const names = builtInProviders.map((provider) => provider.name);
    expect(names).toEqual(
      (
        "openai anthropic gemini openrouter groq xai deepseek mistral together fireworks minimax moonshot zai qwen " +
        "cerebras nvidia vercel azure bedrock vertex huggingface ollama lmstudio vllm"
      ).split(" "),
    );
    for (const { baseUrl, keys, wire, name, docs = "", urlParts = {} } of builtInProviders) {
      const url = baseUrl.replace(/\{(\w+)\}/g, (_part, part: string) => urlParts[part]?.names[0] ?? "{");
      expect(URL.parse(url)?.protocol).toBe(new URL(url).hostname === "127.0.0.1" ? "http:" : "https:");
      expect(keys.length === 0).toBe(new URL(url).hostname === "127.0.0.1");
      expect(URL.parse(docs)?.protocol).toBe("https:");
      const others: Record<string, Wire> = {
        openai: "responses",
        azure: "responses",
        xai: "responses",
        anthropic: "messages",
      };
      expect(wire).toBe(others[name] ?? "chat");
    }
  });

  test("takes from the configuration what it says, and keeps the rest of the row", () => {
    const configured = new Map([["mistral", { wire: "responses", apiKeyEnv: "MY_KEY", models: new Map() } as const]]);
    const [first, ...rest] = providersOf(configured, {});
    expect(first).toMatchObject({
      name: "mistral",
      wire: "responses",
      keys: ["MY_KEY"],
      baseUrl: "https://api.mistral.ai/v1",
      quirks: { callIdLength: 9 },
    });
    expect(rest.map((provider) => provider.name)).not.toContain("mistral");
  });
});

test.each([
  ["https://a.example/v1", "https://a.example/v1/models"],
  ["https://a.example/v1//", "https://a.example/v1/models"],
  ["https://a.example/openai/?api-version=1", "https://a.example/openai/models?api-version=1"],
])("below the base URL %s the models are at %s", (baseUrl, address) => {
  expect(requestUrl(customProvider("x", baseUrl), "/models")).toBe(address);
});

describe("the URL of a provider that needs variables", () => {
  const aws = { AWS_BEARER_TOKEN_BEDROCK: "k" };
  const google = { GOOGLE_OAUTH_ACCESS_TOKEN: "k", GOOGLE_CLOUD_PROJECT: "my-project" };
  const azure = { AZURE_OPENAI_API_KEY: "k" };
  const bedrock = "https://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1";
  const vertex = "aiplatform.googleapis.com/v1/projects/my-project/locations";

  test.each<[string, string, Env, string]>([
    ["AWS_REGION", "bedrock", { ...aws, AWS_REGION: "eu-west-1", AWS_DEFAULT_REGION: "us-east-1" }, bedrock],
    ["AWS_DEFAULT_REGION", "bedrock", { ...aws, AWS_DEFAULT_REGION: " eu-west-1 " }, bedrock],
    [
      "a whole URL",
      "bedrock",
      { ...aws, AWS_BEDROCK_BASE_URL: "https://mantle.example/v1" },
      "https://mantle.example/v1",
    ],
    ["only a project", "vertex", google, `https://${vertex}/global/endpoints/openapi`],
    [
      "a location",
      "vertex",
      { ...google, GOOGLE_CLOUD_LOCATION: "europe-west4" },
      `https://europe-west4-${vertex}/europe-west4/endpoints/openapi`,
    ],
    ["a resource", "azure/x", { ...azure, AZURE_RESOURCE_NAME: "mine" }, "https://mine.openai.azure.com/openai/v1"],
    ...["", "/", "/openai", "/openai/", "/openai/v1", "/openai/v1/"].map((path): [string, string, Env, string] => [
      `an endpoint with the path "${path}"`,
      "azure/x",
      { ...azure, AZURE_OPENAI_ENDPOINT: `https://mine.openai.azure.com${path}` },
      "https://mine.openai.azure.com/openai/v1",
    ]),
  ])("comes from %s for %s", async (_what, model, env, expected) => {
    const { provider } = await resolve({ model }, { env });
    expect(provider.baseUrl.replace(/\/$/, "")).toBe(expected);
  });

  test("does not need them where the URL is configured or given", async () => {
    const providers = { bedrock: { baseUrl: "https://proxy.example/v1", apiKeyEnv: "CORP_KEY" } };
    const { provider } = await resolve({ model: "bedrock/x" }, { env: { CORP_KEY: "k" }, providers });
    expect(provider).toMatchObject({ baseUrl: "https://proxy.example/v1" });
    const given = await resolve({ model: "bedrock/x", baseUrl: "http://127.0.0.1:8080/v1" }, { env: {} });
    expect(given.provider).toMatchObject({ baseUrl: "http://127.0.0.1:8080/v1" });
  });

  test("leaves such a provider out of the choice while they are missing", async () => {
    expect(await problemOf({}, { env: aws })).toMatchObject({ code: "credentials" });
    const env = { ...aws, AWS_REGION: "eu-west-1" };
    expect((await resolve({}, { env })).info.provider).toBe("bedrock");
  });
});

test("a token that serves other programs is a key for the provider that is named", async () => {
  const { key, info } = await resolve({ model: "huggingface" }, { env: { HF_TOKEN: "hf-1" } });
  expect(key).toEqual({ value: "hf-1", variable: "HF_TOKEN" });
  expect(info.provider).toBe("huggingface");
});

describe("the window of a model that nobody describes", () => {
  const ollama: Fetch = async (url) =>
    Response.json(url.endsWith("/api/ps") ? { models: [{ model: "q:8b", context_length: 16_384 }] } : {});

  test("is what its server on this machine says", async () => {
    expect((await resolve({ model: "ollama/q:8b" }, { fetch: ollama })).info.contextWindow).toBe(16_384);
  });

  test.each<[string, ModelChoice, Given]>([
    [
      "it is configured",
      { model: "ollama/q:8b" },
      { providers: { ollama: { models: new Map([["q:8b", { contextWindow: 9 }]]) } } },
    ],
    ["the run is a replay", { model: "ollama/q:8b" }, { offline: true }],
    ["the server is elsewhere", { model: "ollama/q:8b" }, { env: { OLLAMA_HOST: "http://gpu.example:11434" } }],
    ["the provider is in the cloud", { model: "openai/x" }, { env: openai }],
    ["the server is the user's own", { model: "x", baseUrl: "http://127.0.0.1:8080/v1" }, {}],
  ])("is not asked for when %s", async (_why, choice, given) => {
    await resolve(choice, { ...given, fetch: () => expect.unreachable("asked") });
  });
});

describe("what is known of a model", () => {
  test("comes from the catalog, also for a dated name", async () => {
    const price = { input: 2, cached: 0.5, output: 8 };
    for (const more of [{}, { baseUrl: "http://127.0.0.1:8080/v1" }]) {
      const { info } = await resolve({ model: "openai/gpt-4.1-2025-04-14", ...more }, { env: openai });
      expect(info).toMatchObject({ contextWindow: 1_000_000, maxOutput: 32_768, images: true, price });
    }
  });

  test("is overridden by the user, key by key", async () => {
    const models = new Map([["gpt-4.1", { contextWindow: 50_000, images: false }]]);
    const { info } = await resolve({ model: "openai/gpt-4.1" }, { env: openai, providers: { openai: { models } } });
    expect(info).toMatchObject({ contextWindow: 50_000, images: false, maxOutput: 32_768 });
  });

  test("is the default where nobody knows it", async () => {
    const { info } = await resolve({ model: "ollama/private" });
    expect(info).toEqual({ provider: "ollama", name: "private", wire: "chat", contextWindow: 128_000 });
  });

  test("decides which settings are sent, and each that is not is told", async () => {
    const wanted = { temperature: 0.2, reasoningEffort: "low", maxOutputTokens: 5 } as const;
    const reasoning = (await resolve({ model: "openai/gpt-5.5" }, { env: openai })).info;
    expect(supportedSettings(wanted, reasoning)).toEqual({
      settings: { reasoningEffort: "low", maxOutputTokens: 5 },
      dropped: ["openai/gpt-5.5 does not accept a temperature, so 0.2 is not sent"],
    });
    const plain = (await resolve({ model: "openai/gpt-4.1" }, { env: openai })).info;
    expect(supportedSettings(wanted, plain).settings).toEqual({ temperature: 0.2, maxOutputTokens: 5 });
    const unknown = (await resolve({ model: "ollama/private" })).info;
    expect(supportedSettings(wanted, unknown)).toEqual({ settings: wanted, dropped: [] });
  });
});
