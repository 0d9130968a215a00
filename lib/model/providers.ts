import type { ProviderConfig } from "../config/config.ts";
import { KodaError } from "../errors.ts";
import { type AddressVariables, atVariable, type Environment } from "./address.ts";
import type { CatalogName } from "./catalog.ts";
import type { Wire } from "./model.ts";

/** A wire, an endpoint and a key: what there is to know of a provider. Another one is another row. */
export type Provider = {
  name: string;
  baseUrl: string;
  /** The variables that may hold another address. */
  addressVariables?: AddressVariables;
  /** The one that did. */
  addressFrom?: string;
  /** The variables that may hold the key, the first that is set wins. None: it asks for no key. */
  keys: readonly string[];
  /** The program that prints the key when none of these variables is set. */
  keyCommand?: readonly string[];
  /** Sent with each request; `${VAR}` in a value stands for a variable. */
  headers?: ReadonlyMap<string, string>;
  wire: Wire;
  /** What is used when the user names no model. */
  model?: string;
  /** Where models.dev has its models. */
  catalog?: CatalogName;
  /** Asked for on loopback when nothing is configured. */
  local?: true;
  quirks?: Quirks;
};

/** In what a provider's Chat Completions differ from OpenAI's. */
export type Quirks = {
  maxTokens?: "max_tokens";
  /** It refuses `stream_options`, and reports usage without being asked. */
  plainStream?: true;
  /** Its models go on thinking after a tool call only when they see their `reasoning_content` again. */
  echoThinking?: true;
  /** A call's id must have exactly so many letters and digits, also of a call that another provider made. */
  callIdLength?: number;
};

const maxTokens = { maxTokens: "max_tokens" } as const;

/** In the order of preference: with several keys set and no model named, the first row is used. */
export const builtInProviders: readonly Provider[] = [
  {
    name: "openai",
    baseUrl: "https://api.openai.com/v1",
    addressVariables: { names: ["OPENAI_BASE_URL", "OPENAI_API_BASE"] },
    keys: ["OPENAI_API_KEY"],
    wire: "responses",
    model: "gpt-5.5",
    catalog: "openai",
  },
  {
    name: "anthropic",
    baseUrl: "https://api.anthropic.com/v1",
    addressVariables: { names: ["ANTHROPIC_BASE_URL"], path: "/v1" },
    keys: ["ANTHROPIC_API_KEY"],
    wire: "chat",
    model: "claude-sonnet-4-5",
    catalog: "anthropic",
    quirks: maxTokens,
  },
  {
    name: "gemini",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai",
    addressVariables: { names: ["GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"], path: "/v1beta/openai" },
    keys: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    wire: "chat",
    model: "gemini-2.5-pro",
    catalog: "google",
    quirks: maxTokens,
  },
  {
    name: "openrouter",
    baseUrl: "https://openrouter.ai/api/v1",
    addressVariables: { names: ["OPENROUTER_BASE_URL"] },
    keys: ["OPENROUTER_API_KEY"],
    wire: "chat",
    model: "openrouter/auto",
    catalog: "openrouter",
    quirks: maxTokens,
  },
  {
    name: "groq",
    baseUrl: "https://api.groq.com/openai/v1",
    addressVariables: { names: ["GROQ_BASE_URL"], path: "/openai/v1" },
    keys: ["GROQ_API_KEY"],
    wire: "chat",
    model: "openai/gpt-oss-120b",
    catalog: "groq",
  },
  {
    name: "xai",
    baseUrl: "https://api.x.ai/v1",
    addressVariables: { names: ["XAI_BASE_URL"] },
    keys: ["XAI_API_KEY"],
    wire: "chat",
    model: "grok-4",
    catalog: "xai",
  },
  {
    name: "deepseek",
    baseUrl: "https://api.deepseek.com/v1",
    addressVariables: { names: ["DEEPSEEK_BASE_URL"] },
    keys: ["DEEPSEEK_API_KEY"],
    wire: "chat",
    model: "deepseek-chat",
    catalog: "deepseek",
    quirks: { ...maxTokens, echoThinking: true },
  },
  {
    name: "mistral",
    baseUrl: "https://api.mistral.ai/v1",
    addressVariables: { names: ["MISTRAL_BASE_URL"] },
    keys: ["MISTRAL_API_KEY"],
    wire: "chat",
    model: "mistral-medium-latest",
    catalog: "mistral",
    quirks: { ...maxTokens, plainStream: true, callIdLength: 9 },
  },
  {
    name: "together",
    baseUrl: "https://api.together.xyz/v1",
    addressVariables: { names: ["TOGETHER_BASE_URL"] },
    keys: ["TOGETHER_API_KEY"],
    wire: "chat",
    model: "openai/gpt-oss-120b",
    catalog: "togetherai",
    quirks: maxTokens,
  },
  {
    name: "fireworks",
    baseUrl: "https://api.fireworks.ai/inference/v1",
    addressVariables: { names: ["FIREWORKS_BASE_URL"] },
    keys: ["FIREWORKS_API_KEY"],
    wire: "chat",
    model: "accounts/fireworks/models/gpt-oss-120b",
    catalog: "fireworks-ai",
    quirks: maxTokens,
  },
  {
    name: "minimax",
    baseUrl: "https://api.minimax.io/v1",
    addressVariables: { names: ["MINIMAX_BASE_URL"] },
    keys: ["MINIMAX_API_KEY"],
    wire: "chat",
    model: "MiniMax-M2",
    quirks: maxTokens,
  },
  {
    name: "ollama",
    baseUrl: "http://127.0.0.1:11434/v1",
    addressVariables: { names: ["OLLAMA_HOST"], path: "/v1" },
    keys: [],
    wire: "chat",
    local: true,
    quirks: maxTokens,
  },
  {
    name: "lmstudio",
    baseUrl: "http://127.0.0.1:1234/v1",
    addressVariables: { names: ["LMSTUDIO_BASE_URL"] },
    keys: [],
    wire: "chat",
    catalog: "lmstudio",
    local: true,
    quirks: maxTokens,
  },
  {
    name: "vllm",
    baseUrl: "http://127.0.0.1:8000/v1",
    addressVariables: { names: ["VLLM_BASE_URL"] },
    keys: [],
    wire: "chat",
    quirks: maxTokens,
  },
];

/** The provider of --base-url. The configuration may describe its models, and then has no address for it. */
export const flagProvider = "custom";

/**
 * The user's rows and the built-in ones, each at the address that its variable holds. A configured name that is built
 * in changes what it mentions and no more.
 */
export function providersOf(configured: ReadonlyMap<string, ProviderConfig>, env: Environment): Provider[] {
  const rows = new Map(builtInProviders.map((provider) => [provider.name, provider]));
  const own = [...configured]
    .filter(([name, { baseUrl }]) => name !== flagProvider || baseUrl !== undefined)
    .map(([name, config]) => withConfig(name, config, rows.get(name)));
  for (const provider of own) rows.delete(provider.name);
  return [...own, ...rows.values()].map((row) => {
    // A key belongs to its address: one that is configured with another address is not for this one.
    const builtIn = builtInProviders.find(({ name }) => name === row.name);
    const isMoved = configured.get(row.name)?.baseUrl !== undefined;
    return atVariable(row, env, isMoved ? { ...movedTo("", row), keys: builtIn?.keys ?? [] } : row);
  });
}

function withConfig(name: string, config: ProviderConfig, builtIn: Provider | undefined): Provider {
  const { baseUrl, apiKeyEnv, apiKeyCommand, headers, wire } = config;
  const [onlyModel, ...others] = config.models.keys();
  if (builtIn === undefined && baseUrl === undefined) {
    throw new KodaError(
      "config",
      `Provider "${name}" has no address: set providers.${name}.base_url in the configuration`,
    );
  }
  return {
    ...(builtIn ?? ownProvider(name, "")),
    baseUrl: baseUrl ?? builtIn?.baseUrl ?? "",
    // A key belongs to its endpoint: another address gets only the key that is named for it.
    keys: apiKeyEnv !== undefined ? [apiKeyEnv] : (baseUrl ?? apiKeyCommand) !== undefined ? [] : (builtIn?.keys ?? []),
    ...(apiKeyCommand && { keyCommand: apiKeyCommand }),
    ...(headers && { headers }),
    ...(wire && { wire }),
    ...(onlyModel !== undefined && others.length === 0 && { model: onlyModel }),
  };
}

/** The provider at another address: its ways stay, but its keys and headers are for its own address. */
export function movedTo(baseUrl: string, provider: Provider): Provider {
  const { keyCommand: _command, headers: _headers, ...ways } = provider;
  return { ...ways, baseUrl, keys: [] };
}

/** A row for an endpoint of the user's own. `max_tokens` is the name that nearly every server knows. */
export function ownProvider(name: string, baseUrl: string): Provider {
  return { name, baseUrl, keys: [], wire: "chat", quirks: maxTokens };
}

/** A provider's key. */
export type ApiKey = {
  readonly value: string;
  /** The variable that holds it; a key without one was printed by `api_key_command`. */
  readonly variable?: string;
  /** Only for a key that a command prints. */
  readonly isExpired?: () => boolean;
  /** Runs that command again: `value` is the new key then. */
  readonly renew?: (signal: AbortSignal) => Promise<void>;
};

/** The source of a key, for messages. */
export function sourceOf({ variable = "api_key_command" }: ApiKey): string {
  return variable;
}

export function keyOf(provider: Provider, env: Environment): ApiKey | undefined {
  for (const variable of provider.keys) {
    const value = env[variable]?.trim();
    if (value) return { value, variable };
  }
  return undefined;
}
