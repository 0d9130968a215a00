import { type ConditionalPrice, findProvider, type MatchLogic, type ModelInfo } from "@pydantic/genai-prices";
import { catalogDate, type CatalogName, catalogNames } from "./names.ts";

/**
 * The catalog as texts that are fast to load and to search (table.ts does), made from @pydantic/genai-prices by the
 * build. A line is a model: its names, its window and its prices, separated by spaces.
 *
 *     gpt-6-sol,/^gpt-6-sol-\d{8}$ 1050000 2,10,0.2,2.5>272000,4,15,0.4,5
 *
 * The first name is the one to show, empty when none is certain; `x*`, `*x` and `*x*` are patterns, `/…` is a
 * regular expression. A price is that of input, output, cached input and written cache. `>` begins the price above that
 * many tokens of input, `@` the price from that date on.
 */
export function compactCatalog(): Record<CatalogName, string> {
  const texts = catalogNames.map((name) => [name, linesOf(name).join("\n")] as const);
  return Object.fromEntries(texts) as Record<CatalogName, string>;
}

function linesOf(name: CatalogName): string[] {
  const models = findProvider({ providerId: name })?.models ?? [];
  return models.filter((model) => isOffered(name, model)).flatMap(lineOf);
}

/** Chat models, at the provider itself: not those that Google sells for others, and no other endpoint's variant. */
function isOffered(catalog: CatalogName, { id }: ModelInfo): boolean {
  if (catalog === "google" && id.startsWith("claude")) return false;
  if (catalog === "openrouter" && !id.includes("/")) return false;
  return !/embed|whisper|tts|transcribe|realtime|audio|image|voice|-live|ocr|moderation|guard|rerank|:batch/i.test(id);
}

function lineOf(model: ModelInfo): string[] {
  const { id, match, context_window: window, prices } = model;
  const text = pricesText(id, Array.isArray(prices) ? prices : [{ prices }]);
  if (text === "" && window === undefined) return [];
  const patterns = patternsOf(match);
  const shown = matches(match, id) ? id : (patterns.find((pattern) => /^[^*/][^*]*$/.test(pattern)) ?? "");
  const others = withoutDated(patterns).filter((pattern) => pattern !== shown);
  const names = [shown, ...others];
  const bad = names.find((name) => /[\s,]/.test(name));
  if (bad !== undefined) throw new Error(`the catalog's text cannot hold the name "${bad}"`);
  return [`${names.join(",")} ${window ?? ""} ${text}`.trimEnd()];
}

function patternsOf(match: MatchLogic): string[] {
  if ("or" in match) return match.or.flatMap(patternsOf);
  if ("equals" in match) return [match.equals];
  if ("starts_with" in match) return [`${match.starts_with}*`];
  if ("ends_with" in match) return [`*${match.ends_with}`];
  if ("contains" in match) return [`*${match.contains}*`];
  if ("regex" in match) return [`/${match.regex}`];
  return [`/${match.and.map((part) => `(?=${expressionOf(part)})`).join("")}`];
}

/** For a part of `and`, all of which must hold at the beginning of the name. */
function expressionOf(match: MatchLogic): string {
  if ("starts_with" in match) return `^${match.starts_with.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}`;
  if ("regex" in match && match.regex.startsWith("^")) return match.regex;
  throw new Error(`the catalog's text cannot hold the pattern ${JSON.stringify(match)}`);
}

/** Without names and patterns for dates: a name that is not found is looked up without its date. */
function withoutDated(patterns: readonly string[]): string[] {
  const plain = new Set(patterns);
  const undated = (pattern: string) =>
    pattern.startsWith("/")
      ? pattern
          .slice(2)
          .replace(/-\\d\{(?:8\}|4\}-\\d\{2\}-\\d\{2\})\$$/, "")
          .replaceAll("\\", "")
      : pattern.replace(/-(?:\d{4}-\d\d-\d\d|\d{8})$/, "");
  return patterns.filter((pattern) => undated(pattern) === pattern || !plain.has(undated(pattern)));
}

function matches(match: MatchLogic, name: string): boolean {
  if ("or" in match) return match.or.some((part) => matches(part, name));
  if ("and" in match) return match.and.every((part) => matches(part, name));
  if ("regex" in match) return new RegExp(match.regex).test(name);
  const [[kind = "", text = ""] = []] = Object.entries<string>(match);
  const [found, wanted] = [name.toLowerCase(), text.toLowerCase()];
  if (kind === "equals") return found === wanted;
  if (kind === "starts_with") return found.startsWith(wanted);
  return kind === "ends_with" ? found.endsWith(wanted) : found.includes(wanted);
}

/** The price of the catalog's day, and those that will follow. One that depends on the hour is that of the dearest. */
function pricesText(id: string, sets: readonly ConditionalPrice[]): string {
  const atHours = sets.filter(({ constraint }) => constraint?.type === "time_of_date");
  const dated = sets.filter(({ constraint }) => constraint?.type !== "time_of_date");
  const current = dated.findLastIndex((set) => startOf(set) <= catalogDate);
  const texts = dated.slice(current).map((set) =>
    priceText(
      id,
      [set, ...atHours].map(({ prices }) => prices),
    ),
  );
  if (texts.includes("")) return "";
  const starts = dated.slice(current).map(startOf);
  return texts.map((text, at) => (at === 0 ? text : `${starts[at]},${text}`)).join("@");
}

function startOf({ constraint }: ConditionalPrice): string {
  return constraint?.type === "start_date" ? constraint.start_date : "";
}

type ModelPrice = ConditionalPrice["prices"];
const keys = ["input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok"] as const;

function priceText(id: string, sets: readonly ModelPrice[]): string {
  // OpenRouter's own suffix; elsewhere a missing price is one that is not known.
  if (id.endsWith(":free")) return "0,0";
  const isPriced = sets.every((set) => set.input_mtok !== undefined && set.output_mtok !== undefined);
  if (!isPriced) return "";
  const tiers = sets.flatMap((set) => keys.flatMap((key) => (typeof set[key] === "object" ? set[key].tiers : [])));
  const starts = [...new Set(tiers.map(({ start }) => start))].sort((a, b) => a - b);
  const at = (start: number) =>
    keys
      .map((key) => dearest(sets, key, start))
      .join(",")
      .replace(/,+$/, "");
  return [at(0), ...starts.map((start) => `${start},${at(start)}`)].join(">");
}

function dearest(sets: readonly ModelPrice[], key: (typeof keys)[number], start: number): string {
  const prices = sets.flatMap(({ [key]: price }) => {
    if (price === undefined) return [];
    if (typeof price === "number") return [price];
    return [price.tiers.findLast((tier) => tier.start <= start)?.price ?? price.base];
  });
  return prices.length === 0 ? "" : String(Number(Math.max(...prices).toFixed(6)));
}
