import type { Price } from "../model.ts";

/** A model as the catalog knows it. */
type CatalogEntry = { readonly contextWindow?: number; readonly price?: Price };

/** The model of that name in a text of the catalog (compact.ts has its form), with its price at a time. */
export function entryIn(text: string, name: string, now = new Date()): CatalogEntry | undefined {
  const line = lineFor(text, name);
  if (line === undefined) return undefined;
  const [, window = "", prices = ""] = line.split(" ");
  const price = prices === "" ? undefined : priceAt(prices, now);
  return { ...(window !== "" && { contextWindow: Number(window) }), ...(price && { price }) };
}

/** The names of its models, one each. */
export function listedNames(text: string): string[] {
  const names = text.split("\n").map((line) => line.slice(0, line.search(/[, ]/)));
  return names.filter((name) => name !== "");
}

/** Ignores a date in the name: `gpt-4.1-2025-04-14`, `claude-opus-4-20250514`. */
function lineFor(text: string, name: string): string | undefined {
  const lines = text.split("\n");
  const plain = name.replace(/[-@](\d{4}-\d\d-\d\d|\d{8})$/, "");
  return lines.find((line) => isNamed(line, name)) ?? lines.find((line) => isNamed(line, plain));
}

function isNamed(line: string, name: string): boolean {
  const wanted = name.toLowerCase();
  const patterns = line.slice(0, line.indexOf(" ")).split(",");
  return patterns.some((pattern) => {
    if (pattern.startsWith("/")) return new RegExp(pattern.slice(1)).test(name);
    const text = pattern.toLowerCase();
    if (!text.includes("*")) return text === wanted;
    const bare = text.replaceAll("*", "");
    if (!text.startsWith("*")) return wanted.startsWith(bare) && !isOtherVersion(wanted.slice(bare.length));
    return text.endsWith("*") ? wanted.includes(bare) : wanted.endsWith(bare);
  });
}

/** `claude-sonnet-5*` is not for `claude-sonnet-5-5`. */
function isOtherVersion(rest: string): boolean {
  return /^[-.]\d{1,2}(?!\d)/.test(rest);
}

function priceAt(prices: string, now: Date): Price {
  const [first = "", ...later] = prices.split("@");
  const day = now.toISOString().slice(0, 10);
  const begun = later.filter((text) => text.slice(0, day.length) <= day).at(-1);
  const [base = "", ...tiers] = (begun?.slice(day.length + 1) ?? first).split(">");
  return {
    ...priceOf(base.split(",")),
    ...(tiers.length > 0 && { tiers: tiers.map(tierOf) }),
  };
}

function tierOf(text: string) {
  const [above = "", ...prices] = text.split(",");
  return { above: Number(above), ...priceOf(prices) };
}

function priceOf([input = "", output = "", cached = "", written = ""]: readonly string[]) {
  return {
    input: Number(input),
    ...(cached !== "" && { cached: Number(cached) }),
    ...(written !== "" && { written: Number(written) }),
    output: Number(output),
  };
}
