import type { ProviderConfig, Wire } from "../config/config.ts";
import type { Env } from "../config/paths.ts";
import { KodaError } from "../errors.ts";
import { shortestSecret } from "../shell/env.ts";
import { atVariable, type BaseUrlVariables } from "./address.ts";
import type { CatalogName } from "./catalog.ts";

/** A provider: base URL, key and wire. A new provider is a new row in `builtInProviders`. */
export type Provider = {
  name: string;
  baseUrl: string;
  /** The variables that may hold another base URL. */
  baseUrlVariables?: BaseUrlVariables;
  /** The variable that `baseUrl` came from. */
  baseUrlVariable?: string;
  /** The variables that may hold the key, in order of precedence; none when the provider needs no key. */
  keys: readonly string[];
  /** The program that prints the key, if none of these variables is set. */
  keyCommand?: readonly string[];
  /** Headers for each request; `${VAR}` in a value is replaced by that variable. */
  headers?: ReadonlyMap<string, string>;
  wire: Wire;
  /** The default model. */
  model?: string;
  /** The provider's name in the models.dev data. */
  catalog?: CatalogName;
  /** A server on this machine that is looked for when nothing is configured. */
  local?: true;
  quirks?: Quirks;
};

/** Differences from OpenAI's Chat Completions. */
export type Quirks = {
  maxTokens?: "max_tokens";
  /** Refuses `stream_options`, and reports usage without it. */
  plainStream?: true;
  /** Continues after a tool call only when the reply has its `reasoning_content`, even one of another model. */
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
function withDefaults(row: ProviderRow): Provider {
  return { wire: "chat", quirks: { maxTokens }, ...row };
}

type ProviderRow = Omit<Provider, "wire"> & { wire?: Wire };

/** In order of preference: without -m the first provider that has a key is used. */
const rows: readonly ProviderRow[] = [
  {
    name: "openai",
    baseUrl: "https://api.openai.com/v1",
    baseUrlVariables: { names: ["OPENAI_BASE_URL", "OPENAI_API_BASE"] },
    keys: ["OPENAI_API_KEY"],
    wire: "responses",
    quirks: { cacheKey: true },
    model: "gpt-5.5",
    catalog: "openai",
  },
  {
    name: "anthropic",
    baseUrl: "https://api.anthropic.com/v1",
    baseUrlVariables: { names: ["ANTHROPIC_BASE_URL"], path: "/v1" },
    keys: ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
    wire: "messages",
    model: "claude-sonnet-4-5",
    catalog: "anthropic",
  },
  {
    name: "gemini",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai",
    baseUrlVariables: { names: ["GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"], path: "/v1beta/openai" },
    keys: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    model: "gemini-2.5-pro",
    catalog: "google",
  },
  {
    name: "openrouter",
    baseUrl: "https://openrouter.ai/api/v1",
    baseUrlVariables: { names: ["OPENROUTER_BASE_URL"] },
    keys: ["OPENROUTER_API_KEY"],
    model: "openrouter/auto",
    catalog: "openrouter",
    quirks: { maxTokens, cacheControl: true },
  },
  {
    name: "groq",
    baseUrl: "https://api.groq.com/openai/v1",
    baseUrlVariables: { names: ["GROQ_BASE_URL"], path: "/openai/v1" },
    keys: ["GROQ_API_KEY"],
    model: "openai/gpt-oss-120b",
    catalog: "groq",
    quirks: {},
  },
  {
    name: "xai",
    baseUrl: "https://api.x.ai/v1",
    baseUrlVariables: { names: ["XAI_BASE_URL"] },
    keys: ["XAI_API_KEY"],
    model: "grok-4",
    catalog: "xai",
    quirks: {},
  },
  {
    name: "deepseek",
    baseUrl: "https://api.deepseek.com/v1",
    baseUrlVariables: { names: ["DEEPSEEK_BASE_URL"] },
    keys: ["DEEPSEEK_API_KEY"],
    model: "deepseek-chat",
    catalog: "deepseek",
    quirks: { maxTokens, echoThinking: true },
  },
  {
    name: "mistral",
    baseUrl: "https://api.mistral.ai/v1",
    baseUrlVariables: { names: ["MISTRAL_BASE_URL"] },
    keys: ["MISTRAL_API_KEY"],
    model: "mistral-medium-latest",
    catalog: "mistral",
    quirks: { maxTokens, plainStream: true, callIdLength: 9 },
  },
  {
    name: "together",
    baseUrl: "https://api.together.xyz/v1",
    baseUrlVariables: { names: ["TOGETHER_BASE_URL"] },
    keys: ["TOGETHER_API_KEY"],
    model: "openai/gpt-oss-120b",
    catalog: "togetherai",
  },
  {
    name: "fireworks",
    baseUrl: "https://api.fireworks.ai/inference/v1",
    baseUrlVariables: { names: ["FIREWORKS_BASE_URL"] },
    keys: ["FIREWORKS_API_KEY"],
    model: "accounts/fireworks/models/gpt-oss-120b",
    catalog: "fireworks-ai",
  },
  {
    name: "minimax",
    baseUrl: "https://api.minimax.io/v1",
    baseUrlVariables: { names: ["MINIMAX_BASE_URL"] },
    keys: ["MINIMAX_API_KEY"],
    model: "MiniMax-M2",
  },
  {
    name: "ollama",
    baseUrl: "http://127.0.0.1:11434/v1",
    baseUrlVariables: { names: ["OLLAMA_HOST"], path: "/v1" },
    keys: [],
    local: true,
  },
  {
    name: "lmstudio",
    baseUrl: "http://127.0.0.1:1234/v1",
    baseUrlVariables: { names: ["LMSTUDIO_BASE_URL"] },
    keys: [],
    catalog: "lmstudio",
    local: true,
  },
  {
    name: "vllm",
    baseUrl: "http://127.0.0.1:8000/v1",
    baseUrlVariables: { names: ["VLLM_BASE_URL"] },
    keys: [],
  },
];

export const builtInProviders: readonly Provider[] = rows.map(withDefaults);

/** The name of the provider of --base-url. The configuration may describe its models without giving it a base URL. */
export const customProviderName = "custom";

/**
 * Configured and built-in providers, each at the base URL of its variable. Configuring a built-in provider changes only
 * the keys that are given.
 */
export function providersOf(configured: ReadonlyMap<string, ProviderConfig>, env: Env): Provider[] {
  const builtIn = new Map(builtInProviders.map((provider) => [provider.name, provider]));
  const own = [...configured]
    .filter(([name, { baseUrl }]) => name !== customProviderName || baseUrl !== undefined)
    .map(([name, config]) => withConfig(name, config, builtIn.get(name)));
  for (const provider of own) builtIn.delete(provider.name);
  return [...own, ...builtIn.values()].map((row) => {
    // A key that is configured with a base URL must not be sent to the variable's URL.
    const usualKeys = builtInProviders.find(({ name }) => name === row.name)?.keys ?? [];
    const isMoved = configured.get(row.name)?.baseUrl !== undefined;
    return atVariable(row, env, isMoved ? { ...withBaseUrl("", row), keys: usualKeys } : row);
  });
}

function withConfig(name: string, config: ProviderConfig, builtIn: Provider | undefined): Provider {
  const { baseUrl, apiKeyEnv, apiKeyCommand, headers, wire } = config;
  const [onlyModel, ...others] = config.models.keys();
  if (builtIn === undefined && baseUrl === undefined) {
    throw new KodaError(
      "config",
      `Provider "${name}" has no base URL: set providers.${name}.base_url in the configuration`,
    );
  }
  return {
    ...(builtIn ?? customProvider(name, "")),
    baseUrl: baseUrl ?? builtIn?.baseUrl ?? "",
    // The usual key is not sent to another base URL.
    keys: apiKeyEnv !== undefined ? [apiKeyEnv] : (baseUrl ?? apiKeyCommand) !== undefined ? [] : (builtIn?.keys ?? []),
    ...(apiKeyCommand && { keyCommand: apiKeyCommand }),
    ...(headers && { headers }),
    ...(wire && { wire }),
    ...(onlyModel !== undefined && others.length === 0 && { model: onlyModel }),
  };
}

/** The provider at another base URL: without its keys and headers, which are for its own. */
export function withBaseUrl(baseUrl: string, provider: Provider): Provider {
  const { keyCommand: _command, headers: _headers, ...rest } = provider;
  return { ...rest, baseUrl, keys: [] };
}

/** A provider of the user's own. */
export function customProvider(name: string, baseUrl: string): Provider {
  return withDefaults({ name, baseUrl, keys: [] });
}

/** A provider's key. */
export type ApiKey = {
  readonly value: string;
  /** The variable that holds it; absent for a key of `api_key_command`. */
  readonly variable?: string;
  /** Only for a key of `api_key_command`. */
  readonly isExpired?: () => boolean;
  /** Runs that command again and replaces `value`. */
  readonly renew?: (signal: AbortSignal) => Promise<void>;
};

/** False for a key that may stand in another text by accident. */
export function isRecognizable({ value }: ApiKey): boolean {
  return value.length >= shortestSecret;
}

/** The source of a key, for messages. */
export function keySource({ variable = "api_key_command" }: ApiKey): string {
  return variable;
}

export function keyOf(provider: Provider, env: Env): ApiKey | undefined {
  for (const variable of provider.keys) {
    const value = env[variable]?.trim();
    if (value) return { value, variable };
  }
  return undefined;
}
