import { catalogDate } from "../lib/model/catalog/names.ts";
import type { ListedModel } from "../lib/model/listed.ts";
import type { Price } from "../lib/model/model.ts";
import { inline, plain } from "../lib/sink/style.ts";
import type { ProviderState } from "./models.ts";
import { tableOf } from "./table.ts";

/** Those that can be used here come first. Eighty columns are enough for every built-in provider. */
export function providersPage(states: readonly ProviderState[]): string {
  const ordered = [...states.filter(({ isUsable }) => isUsable), ...states.filter(({ isUsable }) => !isUsable)];
  const rows = ordered.map((state) => [
    `${state.isUsable ? "✓" : "-"} ${state.provider.name}`,
    keyCell(state),
    shortened(state.provider.model ?? ""),
    windowText(state.usual.contextWindow),
    priceText(state.usual.price),
  ]);
  const table = tableOf([["  PROVIDER", "KEY", "DEFAULT MODEL", "WINDOW", "PRICE"], ...rows]);
  return `${plain(table)}
✓ can be used here; - lacks the key, the setting or the server that is named.
Prices are US dollars per million tokens of input/output (+ more for a long
input), as of ${catalogDate}. \`koda models PROVIDER\` lists a provider's models.
`;
}

/** The variable that the key comes from, or the one that is missing. */
function keyCell({ provider, isUsable, keyVariable, answers }: ProviderState): string {
  const [usual] = provider.keys;
  if (usual !== undefined && keyVariable === undefined && provider.keyCommand === undefined) return usual;
  if (provider.missing !== undefined) return provider.missing[0]?.split(" ")[0] ?? "";
  if (provider.keyCommand !== undefined && keyVariable === undefined) return "api_key_command";
  if (answers === false) return "not running";
  return keyVariable ?? (isUsable ? "none needed" : "");
}

/** The end of a long name says more than its beginning. */
function shortened(name: string): string {
  return name.length > longestName ? `…${name.slice(1 - longestName)}` : name;
}

const longestName = 19;

/** The name stands last, so that it can be copied however long it is. */
export function modelsPage(models: readonly ListedModel[], usual: string | undefined): string {
  const rows = models.map(({ name, contextWindow, maxOutput, price }) => [
    windowText(contextWindow),
    windowText(maxOutput),
    price === undefined ? "" : amount(price.input, price),
    price?.cached === undefined ? "" : String(price.cached),
    price === undefined ? "" : amount(price.output, price),
    inline(name === usual ? `${name} (default)` : name),
  ]);
  return plain(tableOf([["WINDOW", "REPLY", "IN", "CACHED", "OUT", "MODEL"], ...rows]));
}

/** `272k`, `1.05M` */
function windowText(tokens: number | undefined): string {
  if (tokens === undefined) return "";
  if (tokens < 1000) return String(tokens);
  return tokens < 999_500 ? `${Math.round(tokens / 1000)}k` : `${Math.round(tokens / 1e4) / 100}M`;
}

function priceText(price: Price | undefined): string {
  return price === undefined ? "" : `${price.input}/${amount(price.output, price)}`;
}

function amount(rate: number, { tiers }: Price): string {
  return `${rate}${tiers === undefined ? "" : "+"}`;
}

/** A model in JSON. */
export function modelLine({ name, contextWindow, maxOutput, images, price }: ListedModel): unknown {
  return {
    name,
    context_window: contextWindow ?? null,
    max_output: maxOutput ?? null,
    images: images ?? null,
    price: price === undefined ? null : priceLine(price),
  };
}

function priceLine({ tiers, ...rates }: Price): unknown {
  return {
    ...ratesLine(rates),
    ...(tiers && { tiers: tiers.map(({ above, ...more }) => ({ above, ...ratesLine(more) })) }),
  };
}

function ratesLine({ input, cached, written, output }: Omit<Price, "tiers">): object {
  return {
    input,
    ...(cached !== undefined && { cached }),
    ...(written !== undefined && { written: written }),
    output,
  };
}
