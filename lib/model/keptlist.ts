import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseJson, recordOf } from "../config/json.ts";
import { endpointOf } from "./address.ts";
import { type ListedModel, modelsIn } from "./listed.ts";
import type { ModelFacts } from "./model.ts";
import type { Provider } from "./providers.ts";

/** A price that is older may be another one. */
const keptMs = 30 * 24 * 60 * 60 * 1000;

/**
 * Keeps a provider's list of its models in koda's own directory, with its date, for models that the catalog lacks. A
 * directory that cannot be written is no reason to show no list.
 */
export function keepList(provider: Provider, models: readonly ListedModel[], directory: string): void {
  const path = pathOf(provider, directory);
  const data = models.map(entryOf);
  try {
    mkdirSync(join(directory, "models"), { recursive: true, mode: 0o700 });
    writeFileSync(`${path}.new`, JSON.stringify({ at: Date.now(), endpoint: endpointOf(provider), data }), {
      mode: 0o600,
    });
    renameSync(`${path}.new`, path);
  } catch {
    // Then the facts stay unknown.
  }
}

/** The facts of a model in the provider's list as it was last shown, if that was lately and at the same address. */
export function keptFacts(provider: Provider, model: string, directory: string): Partial<ModelFacts> {
  const list = recordOf(parseJson(textIn(pathOf(provider, directory))));
  const { at } = list;
  if (list.endpoint !== endpointOf(provider) || typeof at !== "number" || Date.now() - at > keptMs) return {};
  return modelsIn(list).find(({ name }) => name === model) ?? {};
}

function pathOf({ name }: Provider, directory: string): string {
  return join(directory, "models", `${encodeURIComponent(name)}.json`);
}

function textIn(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** The form of the lists that `modelsIn` reads. */
function entryOf({ name, contextWindow, maxOutput, images, price }: ListedModel): object {
  return {
    id: name,
    context_window: contextWindow,
    max_tokens: maxOutput,
    ...(images !== undefined && { capabilities: { vision: images } }),
    ...(price && {
      pricing: {
        input: price.input,
        output: price.output,
        cached_input: price.cached,
        input_cache_write: price.written,
      },
    }),
  };
}
