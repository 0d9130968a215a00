import type { Config } from "../lib/config/config.ts";
import type { Env } from "../lib/config/paths.ts";
import { catalogModels, describeModel } from "../lib/model/catalog.ts";
import { demoProvider } from "../lib/model/demo.ts";
import type { ModelInfo, Price } from "../lib/model/model.ts";
import { isOnThisMachine, listModels } from "../lib/model/discovery.ts";
import { endpointOf } from "../lib/model/address.ts";
import { keyOf, type Provider, providersOf } from "../lib/model/providers.ts";
import { plain } from "../lib/sink/style.ts";
import { currentProject, projectConfig } from "./project.ts";
import type { CommandOptions } from "./options.ts";
import { asJson, print } from "./print.ts";
import { tableOf } from "./table.ts";

type Row = {
  provider: Provider;
  isUsable: boolean;
  /** Why it can be used, or what is missing. Keys are named only by their variable. */
  status: string;
  keyVariable: string | undefined;
  /** True when a server on this machine answers; undefined for a provider elsewhere, which is not asked. */
  answers: boolean | undefined;
  models: ModelInfo[];
};

/** `koda models`: lists the models for -m. Only servers on this machine are asked. */
export async function models({ json }: CommandOptions<"models">): Promise<number> {
  const project = currentProject();
  const { config } = await projectConfig(project);
  const providers = [...providersOf(config.providers, project.env), demoProvider];
  const rows = await Promise.all(providers.map((provider) => rowOf(provider, config, project.env)));
  await print(json ? asJson(rows.map(jsonOf)) : page(rows));
  return 0;
}

async function rowOf(provider: Provider, config: Config, env: Env): Promise<Row> {
  const keyVariable = keyOf(provider, env)?.variable;
  const isLocal = isOnThisMachine(provider);
  const offered = isLocal ? await listModels(provider) : undefined;
  const answers = isLocal ? offered !== undefined : undefined;
  const hasKey = provider.keys.length === 0 || keyVariable !== undefined || provider.keyCommand !== undefined;
  return {
    provider,
    isUsable: hasKey && answers !== false,
    status: statusOf(provider, keyVariable, answers),
    keyVariable,
    answers,
    models: await describeAll(provider, offered, config),
  };
}

/** The models of the configuration, the default model, and those of the server or the catalog. */
async function describeAll(
  provider: Provider,
  offered: readonly string[] | undefined,
  { providers, modelDefaults }: Config,
): Promise<ModelInfo[]> {
  const described = providers.get(provider.name)?.models;
  const usual = provider.model === undefined ? [] : [provider.model];
  const names = new Set([...(described?.keys() ?? []), ...usual, ...(offered ?? (await catalogModels(provider)))]);
  const { contextWindow } = modelDefaults;
  return await Promise.all(
    [...names].map((name) => describeModel(provider, name, { configured: described?.get(name), contextWindow })),
  );
}

function statusOf(provider: Provider, keyVariable: string | undefined, answers: boolean | undefined): string {
  if (provider.name === demoProvider.name) return "scripted, needs no key and no network";
  if (keyVariable === undefined && provider.keyCommand !== undefined) return "key from api_key_command";
  if (provider.keys.length > 0 && keyVariable === undefined) return `no key: set ${provider.keys.join(" or ")}`;
  if (answers === false) return `does not answer at ${endpointOf(provider)}`;
  if (answers === true) return `answers at ${endpointOf(provider)}`;
  return keyVariable === undefined ? "needs no key" : `key from ${keyVariable}`;
}

function page(rows: readonly Row[]): string {
  const providers = rows.map(({ provider, isUsable, status }) => [
    isUsable ? "✓" : "-",
    provider.name,
    status,
    provider.model ?? "",
  ]);
  const usable = rows.filter(({ isUsable }) => isUsable).flatMap(({ models }) => models);
  const described = usable.map((info) => [
    `${info.provider}/${info.name}`,
    info.contextWindow.toLocaleString("en"),
    info.images ? "images" : "",
    info.price === undefined ? "" : priceText(info.price),
  ]);
  const tables = [
    tableOf([["", "PROVIDER", "STATUS", "DEFAULT MODEL"], ...providers]),
    usable.length === 0 ? "" : tableOf([["MODEL", "WINDOW", "TAKES", "PRICE PER MILLION TOKENS"], ...described]),
  ];
  return plain(tables.filter((table) => table !== "").join("\n"));
}

/** `$5 in, $0.5 cached, $30 out` */
function priceText({ input, cached, output }: Price): string {
  return [`$${input} in`, cached === undefined ? "" : `$${cached} cached`, `$${output} out`]
    .filter((part) => part !== "")
    .join(", ");
}

function jsonOf({ provider, isUsable, status, keyVariable, answers, models }: Row): unknown {
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
    models: models.map(({ name, contextWindow, maxOutput, images, price }) => ({
      name,
      context_window: contextWindow,
      max_output: maxOutput ?? null,
      images: images ?? null,
      price: price ?? null,
    })),
  };
}
