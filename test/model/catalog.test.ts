import { describe, expect, test } from "bun:test";
import { calcPrice, findProvider, type MatchLogic, type ModelInfo as PackageModel } from "@pydantic/genai-prices";
import { resolve } from "node:path";
import { costOf, openLedger, spend } from "../../lib/engine/ledger.ts";
import { catalogModels, describeModel, isInCatalog } from "../../lib/model/catalog.ts";
import { compactCatalog } from "../../lib/model/catalog/compact.ts";
import { embedCatalog } from "../../lib/model/catalog/embed.ts";
import { catalogDate, catalogNames } from "../../lib/model/catalog/names.ts";
import { entryIn } from "../../lib/model/catalog/table.ts";
import type { Price } from "../../lib/model/model.ts";
import { builtInProviders, type Provider } from "../../lib/model/providers.ts";
import { devDependencies } from "../../package.json";
import { makePlace } from "../support/place.ts";

const texts = compactCatalog();

function equals(match: MatchLogic): string[] {
  if ("or" in match) return match.or.flatMap(equals);
  return "equals" in match ? [match.equals] : [];
}

type Tokens = { input: number; cached: number; output: number };

function costAt(price: Price, { input, cached, output }: Tokens): number {
  const ledger = openLedger({ maxTurns: 1 });
  const usage = { input, cached, output, reasoning: null };
  spend(ledger, { usage, estimate: () => ({ input: 0, output: 0 }), price });
  return costOf(ledger, price) ?? Number.NaN;
}

const sizes: readonly Tokens[] = [
  { input: 100_000, cached: 0, output: 5_000 },
  { input: 250_000, cached: 200_000, output: 5_000 },
  { input: 700_000, cached: 10_000, output: 100_000 },
];

const changes = ({ prices }: PackageModel) => (Array.isArray(prices) ? prices.map(({ constraint }) => constraint) : []);

/** The package's cost at the dearest hour of a day. */
function packageCost(provider: string, name: string, tokens: Tokens, model: PackageModel, day: string): number {
  const usage = { input_tokens: tokens.input, cache_read_tokens: tokens.cached, output_tokens: tokens.output };
  const hours = changes(model).some((constraint) => constraint?.type === "time_of_date") ? 24 : 1;
  const costs = Array.from({ length: hours }, (_, hour) => {
    const timestamp = new Date(`${day}T${String(hour).padStart(2, "0")}:30:00Z`);
    return calcPrice(usage, name, { providerId: provider, timestamp })?.total_price ?? Number.NaN;
  });
  return Math.max(...costs);
}

const isPriced = ({ prices }: PackageModel) =>
  (Array.isArray(prices) ? prices.map((set) => set.prices) : [prices]).every(
    (set) => set.input_mtok && set.output_mtok,
  );

test.each([...catalogNames])(
  "every name of %s costs what the package computes, on every day and in every tier",
  (part) => {
    const wrong: string[] = [];
    let compared = 0;
    for (const model of findProvider({ providerId: part })?.models ?? []) {
      for (const name of equals(model.match)) {
        if (!isPriced(model) || calcPrice({ input_tokens: 1 }, name, { providerId: part })?.model !== model) continue;
        for (const day of changes(model).length === 0 ? [catalogDate] : [catalogDate, "2027-01-02"]) {
          const found = entryIn(texts[part], name, new Date(`${day}T12:00:00Z`));
          if (found?.price === undefined) continue;
          const edges = (found.price.tiers ?? []).flatMap(({ above }) => [above, above + 1]);
          for (const tokens of [...sizes, ...edges.map((input) => ({ input, cached: 1_000, output: 10 }))]) {
            const [ours, theirs] = [costAt(found.price, tokens), packageCost(part, name, tokens, model, day)];
            if (!(Math.abs(ours - theirs) <= 1e-6 * theirs + 1e-9)) wrong.push(`${name} ${day} ${ours} ${theirs}`);
            compared++;
          }
          if (found.contextWindow !== model.context_window) wrong.push(`${name}: ${found.contextWindow}`);
        }
      }
    }
    expect(wrong).toEqual([]);
    expect(compared).toBeGreaterThan(0);
  },
);

test("the catalog's date is that of the package's release", () => {
  // A new version needs its date in lib/model/catalog/names.ts, and another look at lib/model/defaults.ts.
  expect([devDependencies["@pydantic/genai-prices"], catalogDate]).toEqual(["0.1.8", "2026-09-23"]);
});

test("nothing but models that do not chat is left out", () => {
  const left = catalogNames.flatMap((part) =>
    (findProvider({ providerId: part })?.models ?? [])
      .filter(
        (model) => isPriced(model) && equals(model.match).some((name) => entryIn(texts[part], name) === undefined),
      )
      .map(({ id }) => `${part}/${id}`)
      .filter((id) => !/image|audio|realtime|tts|transcribe|:batch|^openrouter\/[^/]+$|^google\/claude/.test(id)),
  );
  expect(left.filter((id) => !/embed|ocr|guard|moderation|live|voice/i.test(id))).toEqual([]);
});

describe("a default model", () => {
  const covered = builtInProviders.filter(({ model, catalog }) => model !== undefined && catalog !== undefined);

  test.each(covered.map((provider): [string, Provider] => [`${provider.name}/${provider.model}`, provider]))(
    "%s is in the catalog, with its window and price, and not deprecated",
    async (_name, provider) => {
      const { model = "", modelPrefix = "", catalog = [] } = provider;
      const info = await describeModel(provider, model, { configured: undefined, contextWindow: 1 });
      expect(info.contextWindow).toBeGreaterThan(100_000);
      expect(info.price?.input).toBeGreaterThan(0);
      const name = model.slice(modelPrefix.length);
      const origins = catalog.map((part) => calcPrice({ input_tokens: 1 }, name, { providerId: part })?.model);
      expect(origins.find((origin) => origin !== undefined)?.deprecated ?? false).toBe(false);
    },
  );

  test("belongs to every provider but Azure, whose names are the user's, and servers on this machine", () => {
    const without = builtInProviders.filter(({ model }) => model === undefined).map(({ name }) => name);
    expect(without).toEqual(["azure", "ollama", "lmstudio", "vllm"]);
  });
});

const providerOf = (name: string) => builtInProviders.find((row) => row.name === name) ?? expect.unreachable(name);

async function describeOf(provider: string, name: string) {
  return await describeModel(providerOf(provider), name, { configured: undefined, contextWindow: 128_000 });
}

describe("what the catalog says of a model", () => {
  test("keeps a conversation below the size at which every token costs more", async () => {
    const { contextWindow, price } = await describeOf("openai", "gpt-6-sol");
    expect(contextWindow).toBe(272_000);
    expect(price).toEqual({
      input: 2,
      cached: 0.2,
      written: 2.5,
      output: 10,
      tiers: [{ above: 272_000, input: 4, cached: 0.4, written: 5, output: 15 }],
    });
  });

  test.each([
    ["openai", "gpt-6-sol-2026-09-22"],
    ["anthropic", "claude-haiku-4-5-20251001"],
    ["vertex", "google/gemini-2.5-pro"],
    ["azure", "claude-opus-5-5"],
    ["together", "openai/gpt-oss-120b"],
    ["minimax", "minimax-m3"],
  ])("is found for %s/%s", async (provider, name) => {
    expect(await isInCatalog(providerOf(provider), name)).toBe(true);
  });

  test.each([
    ["a later version", "anthropic", "claude-sonnet-5-9"],
    ["another model with that beginning", "openai", "gpt-6-sol-mini"],
    ["another provider's model", "openai", "claude-sonnet-5"],
    ["a name without the provider's prefix", "vertex", "gemini-3.8-flash"],
    ["a provider without a catalog", "ollama", "gpt-6-sol"],
  ])("is not taken for %s", async (_what, provider, name) => {
    expect(await isInCatalog(providerOf(provider), name)).toBe(false);
    expect((await describeOf(provider, name)).price).toBeUndefined();
  });

  test("is completed by facts that it lacks, which hold wherever the model is offered", async () => {
    const sonnet = { maxOutput: 128_000, images: true, refuses: ["temperature"] };
    expect(await describeOf("anthropic", "claude-sonnet-5")).toMatchObject(sonnet);
    expect(await describeOf("openrouter", "anthropic/claude-sonnet-5")).toMatchObject(sonnet);
    expect(await describeOf("fireworks", "accounts/fireworks/models/gpt-oss-120b")).toMatchObject({ images: false });
    expect(await describeOf("moonshot", "kimi-k2.7-code")).toMatchObject({ images: true });
    expect(await describeOf("fireworks", "accounts/fireworks/models/kimi-k2p7-code")).toMatchObject({ images: true });
    expect(await describeOf("groq", "moonshotai/kimi-k2-instruct")).toMatchObject({ images: false });
    expect((await describeOf("zai", "glm-5.3")).images).toBeUndefined();
    expect((await describeOf("openai", "gpt-5-chat-latest")).refuses).toEqual([]);
  });

  test("names each model once, as the provider knows it", async () => {
    const names = await catalogModels(providerOf("vertex"));
    expect(names).toContain("google/gemini-3.8-flash");
    expect(names.filter((name) => name.includes("*") || name.includes("claude"))).toEqual([]);
    const all = await catalogModels(providerOf("azure"));
    expect(new Set(all).size).toBe(all.length);
  });
});

test("a binary has the catalog's text and nothing of the package", async () => {
  await using place = makePlace();
  const entry = resolve("cmd/catalog-probe.ts");
  const program = 'import { catalogTexts } from "../lib/model/catalog/built.ts"; console.log(catalogTexts.openai);';
  const built = await Bun.build({
    entrypoints: [entry],
    files: { [entry]: program },
    root: ".",
    plugins: [embedCatalog()],
    outdir: place.home,
    target: "bun",
    splitting: true,
  });
  const code = (await Promise.all(built.outputs.map((output) => output.text()))).join("\n");
  expect(code).not.toMatch(/api_pattern|pricing_urls|calcPrice|provider_match/);
  const run = Bun.spawnSync([process.execPath, built.outputs.find(({ kind }) => kind === "entry-point")?.path ?? ""]);
  expect(run.stdout.toString()).toBe(`${texts.openai}\n`);
});
