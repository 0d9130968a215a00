import type { Wire } from "../config/config.ts";
import type { BaseUrlVariables } from "./address.ts";
import type { CatalogName } from "./catalog/names.ts";
import { defaultModels } from "./defaults.ts";

/** A provider: base URL, key and wire. A new provider is a new row in `builtInProviders`. */
export type Provider = {
  name: string;
  /** The documentation that the row was made from. */
  docs?: string;
  baseUrl: string;
  /** The variables that may hold another base URL. */
  baseUrlVariables?: BaseUrlVariables;
  /** The variable that `baseUrl` came from. */
  baseUrlVariable?: string;
  /** The variables for each `{part}` of `baseUrl`. */
  urlParts?: Readonly<Record<string, UrlPart>>;
  /** The variables of the parts that nothing is known of; such a provider cannot be used. */
  missing?: readonly string[];
  /** The variables that may hold the key, in order of precedence; none when the provider needs no key. */
  keys: readonly string[];
  /** These variables are set for other programs too, so the provider is only used when it is named. */
  sharedKey?: true;
  /** The program that prints the key, if none of these variables is set. */
  keyCommand?: readonly string[];
  /** Headers for each request; `${VAR}` in a value is replaced by that variable. */
  headers?: ReadonlyMap<string, string>;
  wire: Wire;
  /** The default model. */
  model?: string;
  /** The parts of the catalog that have its models, in order of precedence. */
  catalog?: readonly CatalogName[];
  /** The beginning of its models' names that the catalog does not have. */
  modelPrefix?: string;
  /** Its list of models, when that is not at `/models`. */
  listing?: Listing;
  /** A server on this machine that is looked for when nothing is configured. */
  local?: true;
  quirks?: Quirks;
};

/** The first variable that is set, else `usual`. */
type UrlPart = { readonly names: readonly string[]; readonly usual?: string };

/** A path, or `none`: it has no such list. The servers that are named tell the size of the window elsewhere. */
type Listing = `/${string}` | "none" | "ollama" | "lmstudio" | "vllm";

/** Differences from OpenAI's Chat Completions. */
export type Quirks = {
  maxTokens?: "max_tokens";
  /** Refuses `stream_options`, and reports usage without it. */
  plainStream?: true;
  /** Continues after a tool call only when the reply has a `reasoning_content`, even one of another model. */
  echoThinking?: true;
  /** Takes `prompt_cache_key`. */
  cacheKey?: true;
  /** Caches the prompts of Anthropic's models only when `cache_control` asks for it. */
  cacheControl?: true;
  /** Requires call ids of exactly this many letters and digits, even for calls of another provider. */
  callIdLength?: number;
};

const maxTokens = "max_tokens";

/** Most servers speak Chat Completions, and nearly every one knows the name `max_tokens`. */
export function withDefaults(row: ProviderRow): Provider {
  return { wire: "chat", quirks: { maxTokens }, ...row };
}

type ProviderRow = Omit<Provider, "wire"> & { wire?: Wire };

/** In order of preference: without -m the first provider that has a key is used. */
const rows: readonly ProviderRow[] = [
  {
    name: "openai",
    docs: "https://platform.openai.com/docs/api-reference",
    baseUrl: "https://api.openai.com/v1",
    baseUrlVariables: { names: ["OPENAI_BASE_URL", "OPENAI_API_BASE"] },
    keys: ["OPENAI_API_KEY"],
    wire: "responses",
    quirks: { cacheKey: true },
    catalog: ["openai"],
  },
  {
    name: "anthropic",
    docs: "https://platform.claude.com/docs/en/api/messages",
    baseUrl: "https://api.anthropic.com/v1",
    baseUrlVariables: { names: ["ANTHROPIC_BASE_URL"], path: "/v1" },
    keys: ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
    wire: "messages",
    catalog: ["anthropic"],
    listing: "/models?limit=1000",
  },
  {
    name: "gemini",
    docs: "https://ai.google.dev/gemini-api/docs/openai",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai",
    baseUrlVariables: { names: ["GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"], path: "/v1beta/openai" },
    keys: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    catalog: ["google"],
  },
  {
    name: "openrouter",
    docs: "https://openrouter.ai/docs/api-reference/overview",
    baseUrl: "https://openrouter.ai/api/v1",
    baseUrlVariables: { names: ["OPENROUTER_BASE_URL"] },
    keys: ["OPENROUTER_API_KEY"],
    catalog: ["openrouter"],
    quirks: { maxTokens, cacheControl: true },
  },
  {
    name: "groq",
    docs: "https://console.groq.com/docs/openai",
    baseUrl: "https://api.groq.com/openai/v1",
    baseUrlVariables: { names: ["GROQ_BASE_URL"], path: "/openai/v1" },
    keys: ["GROQ_API_KEY"],
    catalog: ["groq"],
    quirks: {},
  },
  {
    name: "xai",
    docs: "https://docs.x.ai/developers/model-capabilities/text/comparison",
    baseUrl: "https://api.x.ai/v1",
    baseUrlVariables: { names: ["XAI_BASE_URL"] },
    keys: ["XAI_API_KEY"],
    // Its Chat Completions are deprecated: they have no field for the model's thoughts.
    wire: "responses",
    quirks: { cacheKey: true },
    catalog: ["x-ai"],
  },
  {
    name: "deepseek",
    docs: "https://api-docs.deepseek.com/api/create-chat-completion",
    baseUrl: "https://api.deepseek.com/v1",
    baseUrlVariables: { names: ["DEEPSEEK_BASE_URL"] },
    keys: ["DEEPSEEK_API_KEY"],
    catalog: ["deepseek"],
    quirks: { maxTokens, echoThinking: true },
  },
  {
    name: "mistral",
    docs: "https://docs.mistral.ai/api",
    baseUrl: "https://api.mistral.ai/v1",
    baseUrlVariables: { names: ["MISTRAL_BASE_URL"] },
    keys: ["MISTRAL_API_KEY"],
    catalog: ["mistral"],
    quirks: { maxTokens, plainStream: true, callIdLength: 9 },
  },
  {
    name: "together",
    docs: "https://docs.together.ai/docs/openai-api-compatibility",
    baseUrl: "https://api.together.xyz/v1",
    baseUrlVariables: { names: ["TOGETHER_BASE_URL"] },
    keys: ["TOGETHER_API_KEY"],
    // Hugging Face's router passes the price of Together on, and is described more completely.
    catalog: ["together", "huggingface_together"],
  },
  {
    name: "fireworks",
    docs: "https://docs.fireworks.ai/tools-sdks/openai-compatibility",
    baseUrl: "https://api.fireworks.ai/inference/v1",
    baseUrlVariables: { names: ["FIREWORKS_BASE_URL"] },
    keys: ["FIREWORKS_API_KEY"],
    catalog: ["fireworks"],
  },
  {
    name: "minimax",
    docs: "https://platform.minimax.io/docs/api-reference/text-openai-api",
    baseUrl: "https://api.minimax.io/v1",
    baseUrlVariables: { names: ["MINIMAX_BASE_URL"] },
    keys: ["MINIMAX_API_KEY"],
    catalog: ["minimax"],
    quirks: {},
  },
  {
    name: "moonshot",
    docs: "https://platform.kimi.ai/docs/guide/use-kimi-k2-thinking-model",
    baseUrl: "https://api.moonshot.ai/v1",
    baseUrlVariables: { names: ["MOONSHOT_BASE_URL"] },
    keys: ["MOONSHOT_API_KEY"],
    catalog: ["moonshotai"],
    quirks: { echoThinking: true },
  },
  {
    name: "zai",
    docs: "https://docs.z.ai/api-reference/llm/chat-completion",
    baseUrl: "https://api.z.ai/api/paas/v4",
    baseUrlVariables: { names: ["ZAI_BASE_URL"] },
    keys: ["ZAI_API_KEY", "Z_AI_API_KEY"],
    catalog: ["zai"],
  },
  {
    name: "qwen",
    docs: "https://www.alibabacloud.com/help/en/model-studio/compatibility-of-openai-with-dashscope",
    baseUrl: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    baseUrlVariables: { names: ["DASHSCOPE_BASE_URL", "DASHSCOPE_API_BASE"] },
    keys: ["DASHSCOPE_API_KEY"],
  },
  {
    name: "cerebras",
    docs: "https://inference-docs.cerebras.ai/resources/openai",
    baseUrl: "https://api.cerebras.ai/v1",
    baseUrlVariables: { names: ["CEREBRAS_BASE_URL"], path: "/v1" },
    keys: ["CEREBRAS_API_KEY"],
    catalog: ["cerebras"],
    quirks: {},
  },
  {
    name: "nvidia",
    docs: "https://docs.api.nvidia.com/nim/reference/nvidia-nemotron-3-super-120b-a12b-infer",
    baseUrl: "https://integrate.api.nvidia.com/v1",
    baseUrlVariables: { names: ["NVIDIA_BASE_URL"] },
    keys: ["NVIDIA_API_KEY"],
  },
  {
    name: "vercel",
    docs: "https://vercel.com/docs/ai-gateway/openai-compat",
    baseUrl: "https://ai-gateway.vercel.sh/v1",
    baseUrlVariables: { names: ["AI_GATEWAY_BASE_URL"] },
    keys: ["AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN"],
  },
  {
    name: "azure",
    docs: "https://learn.microsoft.com/en-us/azure/foundry/openai/api-version-lifecycle",
    baseUrl: "https://{resource}.openai.azure.com/openai/v1",
    baseUrlVariables: { names: ["AZURE_OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT"], path: "/openai/v1" },
    urlParts: { resource: { names: ["AZURE_RESOURCE_NAME"] } },
    keys: ["AZURE_OPENAI_API_KEY"],
    wire: "responses",
    quirks: {},
    catalog: ["azure", "openai", "anthropic", "deepseek", "x-ai", "moonshotai"],
  },
  {
    name: "bedrock",
    docs: "https://docs.aws.amazon.com/bedrock/latest/userguide/inference-chat-completions.html",
    baseUrl: "https://bedrock-runtime.{region}.amazonaws.com/openai/v1",
    baseUrlVariables: { names: ["AWS_BEDROCK_BASE_URL"] },
    urlParts: { region: { names: ["AWS_REGION", "AWS_DEFAULT_REGION"] } },
    keys: ["AWS_BEARER_TOKEN_BEDROCK"],
    catalog: ["aws"],
    listing: "none",
    quirks: {},
  },
  {
    name: "vertex",
    docs: "https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/call-vertex-using-openai-library",
    baseUrl:
      "https://{location}-aiplatform.googleapis.com/v1/projects/{project}/locations/{location}/endpoints/openapi",
    urlParts: {
      project: { names: ["GOOGLE_CLOUD_PROJECT", "GOOGLE_VERTEX_PROJECT"] },
      location: { names: ["GOOGLE_CLOUD_LOCATION", "GOOGLE_VERTEX_LOCATION"], usual: "global" },
    },
    keys: ["GOOGLE_OAUTH_ACCESS_TOKEN"],
    sharedKey: true,
    catalog: ["google"],
    modelPrefix: "google/",
    listing: "none",
  },
  {
    name: "huggingface",
    docs: "https://huggingface.co/docs/inference-providers/tasks/chat-completion",
    baseUrl: "https://router.huggingface.co/v1",
    keys: ["HF_TOKEN", "HUGGINGFACE_HUB_TOKEN"],
    sharedKey: true,
  },
  {
    name: "ollama",
    docs: "https://docs.ollama.com/api/openai-compatibility",
    baseUrl: "http://127.0.0.1:11434/v1",
    baseUrlVariables: { names: ["OLLAMA_HOST"], path: "/v1" },
    keys: [],
    listing: "ollama",
    local: true,
  },
  {
    name: "lmstudio",
    docs: "https://lmstudio.ai/docs/developer/openai-compat",
    baseUrl: "http://127.0.0.1:1234/v1",
    baseUrlVariables: { names: ["LMSTUDIO_BASE_URL"] },
    keys: [],
    listing: "lmstudio",
    local: true,
  },
  {
    name: "vllm",
    docs: "https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html",
    baseUrl: "http://127.0.0.1:8000/v1",
    baseUrlVariables: { names: ["VLLM_BASE_URL"] },
    keys: [],
    listing: "vllm",
  },
];

export const builtInProviders: readonly Provider[] = rows.map((row) => {
  const model = defaultModels[row.name];
  return withDefaults({ ...row, ...(model !== undefined && { model }) });
});
