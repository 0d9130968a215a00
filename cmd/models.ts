import type { Config } from "../lib/config/config.ts";
import type { Env } from "../lib/config/paths.ts";
import { endpointOf, missingVariables } from "../lib/model/address.ts";
import { catalogModels, knownFacts } from "../lib/model/catalog.ts";
import { catalogDate } from "../lib/model/catalog/names.ts";
import { providersOf } from "../lib/model/configured.ts";
import { demoProvider } from "../lib/model/demo.ts";
import { isOnThisMachine, listModels } from "../lib/model/discovery.ts";
import type { ListedModel } from "../lib/model/listed.ts";
import type { ModelFacts } from "../lib/model/model.ts";
import { keyOf } from "../lib/model/key.ts";
import type { Provider } from "../lib/model/providers.ts";
import type { CommandOptions } from "./options.ts";
import { asJson, print } from "./print.ts";
import { modelLine, providersPage } from "./modelspage.ts";
import { currentProject, projectConfig } from "./project.ts";

/** A provider as it can be used here. */
export type ProviderState = {
  provider: Provider;
  isUsable: boolean;
  /** Why it can be used, or what is missing. Keys are named only by their variable. */
  status: string;
  keyVariable: string | undefined;
  /** True when a server on this machine answers; undefined for a provider elsewhere, which is not asked. */
  answers: boolean | undefined;
  /** The models of such a server. */
  offered: readonly string[] | undefined;
  /** The facts about the default model. */
  usual: Partial<ModelFacts>;
};

/** `koda models`: the providers; only servers on this machine are asked. `koda models PROVIDER`: asks that one. */
export async function models(options: CommandOptions<"models">, stop?: AbortSignal): Promise<number> {
  const { provider, json } = options;
  const project = currentProject(options);
  const { config } = await projectConfig(project);
  const providers = [...providersOf(config.providers, project.env), demoProvider];
  if (provider !== undefined) {
    const { showModels } = await import("./modelsof.ts");
    return await showModels(provider, { providers, config, project, json: json === true, stop });
  }
  const states = await Promise.all(providers.map((row) => stateOf(row, config, project.env)));
  await print(json ? asJson(await Promise.all(states.map((state) => jsonOf(state, config)))) : providersPage(states));
  return 0;
}

/** The models of all providers that can be used here, as `-m` takes them. */
export async function usableModels(options: Parameters<typeof currentProject>[0]): Promise<string[]> {
  const project = currentProject(options);
  const { config } = await projectConfig(project);
  const states = await Promise.all(
    providersOf(config.providers, project.env).map((row) => stateOf(row, config, project.env)),
  );
  const lists = states
    .filter(({ isUsable }) => isUsable)
    .map(async (state) => (await describeAll(state, config)).map(({ name }) => `${state.provider.name}/${name}`));
  return (await Promise.all(lists)).flat();
}

async function stateOf(provider: Provider, config: Config, env: Env): Promise<ProviderState> {
  const keyVariable = keyOf(provider, env)?.variable;
  const isLocal = isOnThisMachine(provider);
  const offered = isLocal ? await listModels(provider) : undefined;
  const answers = isLocal ? offered !== undefined : undefined;
  const hasKey = provider.keys.length === 0 || keyVariable !== undefined || provider.keyCommand !== undefined;
  return {
    provider,
    isUsable: hasKey && answers !== false && provider.missing === undefined,
    status: statusOf(provider, keyVariable, answers),
    keyVariable,
    answers,
    offered,
    usual: provider.model === undefined ? {} : await factsOf(provider, provider.model, config),
  };
}

function statusOf(provider: Provider, keyVariable: string | undefined, answers: boolean | undefined): string {
  if (provider.name === demoProvider.name) return "scripted, needs no key and no network";
  const hasKey = keyVariable !== undefined || provider.keyCommand !== undefined;
  if (provider.keys.length > 0 && !hasKey) return `no key: set ${provider.keys.join(" or ")}`;
  if (provider.missing !== undefined) return `no URL: set ${missingVariables(provider)}`;
  if (keyVariable === undefined && provider.keyCommand !== undefined) return "key from api_key_command";
  if (answers === false) return `does not answer at ${endpointOf(provider)}`;
  if (answers === true) return `answers at ${endpointOf(provider)}`;
  return keyVariable === undefined ? "needs no key" : `key from ${keyVariable}`;
}

async function jsonOf(state: ProviderState, config: Config) {
  const { provider, isUsable, status, keyVariable, answers } = state;
  return {
    name: provider.name,
    usable: isUsable,
    status,
    base_url: endpointOf(provider),
    wire: provider.wire,
    key_variables: provider.keys,
    key_variable: keyVariable ?? null,
    answers: answers ?? null,
    default_model: provider.model ?? null,
    docs: provider.docs ?? null,
    catalog_date: provider.catalog === undefined ? null : catalogDate,
    models: (await describeAll(state, config)).map(modelLine),
  };
}

/** The models of the configuration, the default model, and those of a server on this machine or of the catalog. */
async function describeAll({ provider, offered }: ProviderState, config: Config): Promise<ListedModel[]> {
  const described = config.providers.get(provider.name)?.models;
  const usual = provider.model === undefined ? [] : [provider.model];
  const names = new Set([...(described?.keys() ?? []), ...usual, ...(offered ?? (await catalogModels(provider)))]);
  return await Promise.all([...names].map((name) => factsOf(provider, name, config)));
}

/** The facts that are known: not the window that is assumed for a model without any. */
async function factsOf(provider: Provider, name: string, { providers }: Config): Promise<ListedModel> {
  return { ...(await knownFacts(provider, name)), ...providers.get(provider.name)?.models.get(name), name };
}
