import type { ModelConfig } from "../config/config.ts";
import { formatPath } from "../config/keypath.ts";
import { KodaError } from "../errors.ts";
import { shellQuoted } from "../quote.ts";
import { entryIn, listedNames } from "./catalog/table.ts";
import type { ModelFacts, ModelInfo } from "./model.ts";
import type { Provider } from "./providers.ts";
import { reviewedFacts } from "./reviewed.ts";

type Sources = {
  configured: ModelConfig | undefined;
  /** The provider's own description. */
  listed?: Partial<ModelFacts>;
  /** The provider's list as it was kept, for a model that the catalog lacks. */
  kept?: () => Partial<ModelFacts>;
  /** The window of a model that is not described anywhere. */
  contextWindow: number;
};

/**
 * A model's context window, price and abilities: from the user's configuration, then from the provider itself where it
 * was asked, then from the catalog, or for want of that from the provider's list as it was kept, then from our own
 * review of what the catalog lacks.
 */
export async function describeModel(
  provider: Provider,
  name: string,
  { configured, listed, kept, contextWindow }: Sources,
): Promise<ModelInfo> {
  const known = { contextWindow, ...(await knownFacts(provider, name, kept)), ...listed };
  return { ...known, ...configured, provider: provider.name, name, wire: provider.wire };
}

/** The facts of the catalog and of our own review; a fact that neither knows is absent. */
export async function knownFacts(
  provider: Provider,
  name: string,
  otherwise?: Sources["kept"],
): Promise<Partial<ModelFacts>> {
  return withinTier({ ...reviewedFacts(name), ...((await entryOf(provider, name)) ?? otherwise?.()) });
}

/**
 * Above the first tier of its price every token costs more, so conversations are kept below that unless the user
 * configures a larger window.
 */
function withinTier(facts: Partial<ModelFacts>): Partial<ModelFacts> {
  const { contextWindow, price } = facts;
  const above = price?.tiers?.[0]?.above;
  if (contextWindow === undefined || above === undefined) return facts;
  return { ...facts, contextWindow: Math.min(contextWindow, above) };
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

/** The names of a provider's models in the catalog, each once. */
export async function catalogModels(provider: Provider): Promise<string[]> {
  const names = (await textsOf(provider)).flatMap(listedNames);
  return [...new Set(names.map((name) => `${provider.modelPrefix ?? ""}${name}`))];
}

/** True when the catalog has a model of that name at the provider, which may be one of several names of a model. */
export async function isInCatalog(provider: Provider, name: string): Promise<boolean> {
  return (await entryOf(provider, name)) !== undefined;
}

async function entryOf(provider: Provider, name: string) {
  const { modelPrefix = "" } = provider;
  if (!name.startsWith(modelPrefix)) return undefined;
  const entries = (await textsOf(provider)).map((text) => entryIn(text, name.slice(modelPrefix.length)));
  return entries.find((entry) => entry !== undefined);
}

/** Only what has to be looked up is loaded. */
async function textsOf({ catalog = [] }: Provider): Promise<string[]> {
  if (catalog.length === 0) return [];
  const { catalogTexts } = await import("./catalog/built.ts");
  return catalog.map((name) => catalogTexts[name]);
}
