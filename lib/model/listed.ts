import { arrayIn, countIn, isRecord, type JsonRecord, recordIn, recordOf, stringIn } from "../config/json.ts";
import type { ModelFacts, Price } from "./model.ts";

/** A model in a server's list of its models, with the facts that the list tells. */
export type ListedModel = { readonly name: string } & Partial<ModelFacts>;

/** Reads the list of any provider: they agree on the place of the names, and on little else. */
export function modelsIn(body: unknown): ListedModel[] {
  const entries = Array.isArray(body) ? body : arrayIn(recordOf(body), "data");
  return entries.flatMap((entry) => modelIn(recordOf(entry)));
}

function modelIn(entry: JsonRecord): ListedModel[] {
  const id = stringIn(entry, "id");
  const kind = stringIn(entry, "type") ?? "";
  if (!id || /embed|image|audio|video|rerank|moderation|transcri|speech/i.test(kind)) return [];
  // Hugging Face's router chooses among several providers of a model: no fact may promise too much.
  const offers = arrayIn(entry, "providers").filter(isRecord);
  const places = offers.length > 0 ? offers : [entry];
  const contextWindow = least(places.map(windowIn));
  const maxOutput = least(places.map(outputIn));
  const images = imagesIn(entry);
  const price = dearest(places.map((place) => priceIn(recordIn(place, "pricing"))));
  return [
    {
      // Google's list has the paths of its models.
      name: id.replace(/^models\//, ""),
      ...(contextWindow !== undefined && { contextWindow }),
      ...(maxOutput !== undefined && { maxOutput }),
      ...(images !== undefined && { images }),
      ...(price && { price }),
    },
  ];
}

/** By the names of LM Studio, OpenRouter, Groq, Mistral, vLLM and Anthropic, in this order. */
const windowKeys = [
  "loaded_context_length",
  "context_length",
  "context_window",
  "max_context_length",
  "max_model_len",
  "max_input_tokens",
];

function windowIn(entry: JsonRecord): number | undefined {
  const window = firstCount(entry, windowKeys);
  return window === 0 ? undefined : window;
}

function outputIn(entry: JsonRecord): number | undefined {
  const here = firstCount(entry, ["max_completion_tokens", "max_tokens"]);
  const top = countIn(recordIn(entry, "top_provider"), "max_completion_tokens");
  const output = here ?? top;
  return output === 0 ? undefined : output;
}

function imagesIn(entry: JsonRecord): boolean | undefined {
  const { vision } = recordIn(entry, "capabilities");
  if (typeof vision === "boolean") return vision;
  const modalities = arrayIn(recordIn(entry, "architecture"), "input_modalities");
  return modalities.length === 0 ? undefined : modalities.includes("image");
}

function priceIn(pricing: JsonRecord): Price | undefined {
  const input = rateIn(pricing, ["prompt", "input"]);
  const output = rateIn(pricing, ["completion", "output"]);
  if (input === undefined || output === undefined) return undefined;
  const cached = rateIn(pricing, ["input_cache_read", "cached_input"]);
  const written = rateIn(pricing, ["input_cache_write"]);
  return { input, ...(cached !== undefined && { cached }), ...(written !== undefined && { written }), output };
}

/** A string is the price of a token, a number that of a million; OpenRouter's router has a price of -1. */
function rateIn(pricing: JsonRecord, names: readonly string[]): number | undefined {
  const value = names.map((name) => pricing[name]).find((rate) => rate !== undefined);
  const rate = typeof value === "string" && value !== "" ? Number(value) * 1e6 : value;
  return typeof rate === "number" && rate >= 0 ? Number(rate.toFixed(6)) : undefined;
}

function firstCount(entry: JsonRecord, names: readonly string[]): number | undefined {
  return names.map((name) => countIn(entry, name)).find((count) => count !== undefined);
}

function least(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

function dearest(prices: readonly (Price | undefined)[]): Price | undefined {
  const known = prices.filter((price) => price !== undefined);
  return known.toSorted((a, b) => b.input + b.output - a.input - a.output)[0];
}
