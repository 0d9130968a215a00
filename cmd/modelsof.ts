import type { Config } from "../lib/config/config.ts";
import { findDataDirectory } from "../lib/config/paths.ts";
import { KodaError } from "../lib/errors.ts";
import { endpointOf } from "../lib/model/address.ts";
import { catalogModels, knownFacts } from "../lib/model/catalog.ts";
import { catalogDate } from "../lib/model/catalog/names.ts";
import { demoProvider } from "../lib/model/demo.ts";
import { platformFetch } from "../lib/model/fetch.ts";
import { keepList } from "../lib/model/keptlist.ts";
import type { ListedModel } from "../lib/model/listed.ts";
import { askForModels } from "../lib/model/listing.ts";
import type { Provider } from "../lib/model/providers.ts";
import { resolveModel } from "../lib/model/resolve.ts";
import { nearest } from "../lib/nearest.ts";
import { modelLine, modelsPage } from "./modelspage.ts";
import { printNote } from "./note.ts";
import { asJson, print } from "./print.ts";
import type { CurrentProject } from "./project.ts";
import { version } from "./version.ts";

type ShowOptions = {
  providers: readonly Provider[];
  config: Config;
  project: CurrentProject;
  json: boolean;
  /** Stops the request and `api_key_command`. */
  stop: AbortSignal | undefined;
};

/** `koda models PROVIDER`: the models that the provider lists for the user's key, with what is known of each. */
export async function showModels(name: string, options: ShowOptions): Promise<number> {
  const { providers, json } = options;
  const provider = providers.find((row) => row.name === name);
  if (provider === undefined) throw unknownProvider(name, providers);
  const listed = provider.name === demoProvider.name ? [{ name: "scripted" }] : await askProvider(provider, options);
  if (listed !== undefined) keep(provider, listed, options);
  const models = listed ?? (await catalogModels(provider)).map((model): ListedModel => ({ name: model }));
  if (listed === undefined && models.length === 0)
    throw new KodaError("request", `${name} has no list of its models at ${endpointOf(provider)}`);

  const described = await Promise.all(models.map((model) => describe(model, options.config, provider)));
  const ordered = described.toSorted((a, b) => a.name.localeCompare(b.name, "en"));
  if (listed === undefined) await printNote(`koda: ${name} has no list of its models; these are from the catalog.`);
  await print(json ? asJson(jsonOf(provider, ordered, listed !== undefined)) : modelsPage(ordered, provider.model));
  if (ordered.length === 0) await printNote(`koda: ${name} offers no models for this key.`);
  else if (!json) await printNote(legend);
  return 0;
}

function keep(provider: Provider, listed: readonly ListedModel[], { project }: ShowOptions): void {
  const directory = findDataDirectory(project);
  if (directory !== undefined) keepList(provider, listed, directory);
}

const legend =
  `koda: prices are US dollars per million tokens (+ more for a long input), from the provider's list, else from the ` +
  `catalog of ${catalogDate}.`;

function unknownProvider(name: string, providers: readonly Provider[]): KodaError {
  const names = providers.map((row) => row.name);
  const meant = nearest(name, names);
  const hint = meant === undefined ? "" : ` (did you mean "${meant}"?)`;
  return new KodaError("usage", `Unknown provider "${name}"${hint}: expected one of ${names.join(", ")}`);
}

/** A list comes at once or not at all. */
const answerMs = 10_000;

async function askProvider(provider: Provider, { config, project, stop }: ShowOptions) {
  const signal = stop ?? new AbortController().signal;
  const context = { config, env: project.env, signal, writable: [project.root, ...config.sandbox.write] };
  const resolved = await resolveModel({ model: `${provider.name}/${provider.model ?? "any"}` }, context);
  const endpoint = { ...resolved, settings: {}, fetch: platformFetch, env: project.env, streamIdleMs: answerMs };
  return await askForModels({ ...endpoint, userAgent: `koda/${version}` }, signal);
}

/** The configuration counts most, then the provider's list, which cannot tell that a long input costs more. */
async function describe(model: ListedModel, { providers }: Config, provider: Provider): Promise<ListedModel> {
  const configured = providers.get(provider.name)?.models.get(model.name);
  const known = await knownFacts(provider, model.name);
  const facts = known.price?.tiers === undefined ? { ...known, ...model } : { ...model, ...known };
  return { ...facts, ...configured, name: model.name };
}

function jsonOf(provider: Provider, models: readonly ListedModel[], isListed: boolean): unknown {
  return {
    name: provider.name,
    base_url: endpointOf(provider),
    source: isListed ? "provider" : "catalog",
    default_model: provider.model ?? null,
    catalog_date: catalogDate,
    models: models.map(modelLine),
  };
}
