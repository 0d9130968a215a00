import type { Config, Wire } from "../config/config.ts";
import type { Env } from "../config/paths.ts";
import { KodaError } from "../errors.ts";
import { nearest } from "../nearest.ts";
import { assertBaseUrl, missingVariables } from "./address.ts";
import { catalogModels, describeModel, isInCatalog } from "./catalog.ts";
import { demoProvider } from "./demo.ts";
import { isDemo } from "./demoname.ts";
import { runningProviders } from "./discovery.ts";
import type { Fetch } from "./fetch.ts";
import { type ExtraHeaders, headersOf } from "./headers.ts";
import { keptFacts } from "./keptlist.ts";
import { localWindow } from "./localwindow.ts";
import type { ModelInfo } from "./model.ts";
import { customProvider, customProviderName, isReady, providersOf, withBaseUrl } from "./configured.ts";
import { type ApiKey, keyOf } from "./key.ts";
import { builtInProviders, type Provider } from "./providers.ts";

/** The user's choice of a model, from flags, environment and configuration. */
export type ModelChoice = { model?: string; baseUrl?: string; apiKeyEnv?: string; wire?: Wire };

type ResolveContext = {
  config: Pick<Config, "providers" | "modelDefaults">;
  env: Env;
  /** For requests to servers on this machine. */
  fetch?: Fetch;
  /** For a replay: needs no key, sends no request, and accepts a provider that is no longer configured. */
  offline?: boolean;
  /** Stops `api_key_command`. */
  signal?: AbortSignal;
  /** Directories that commands may write to: `api_key_command` is never run from there. */
  writable: readonly string[];
  /** The directory of koda's own state, which may have lists of models. */
  dataDirectory?: string | undefined;
};

export type ResolvedModel = { provider: Provider; info: ModelInfo; key?: ApiKey; headers?: ExtraHeaders };

/** Finds the provider, the model and its key. */
export async function resolveModel(choice: ModelChoice, context: ResolveContext): Promise<ResolvedModel> {
  return await resolveChosen(await chooseModel(choice, context), context);
}

/** Throws a KodaError when no provider has a model of this name, as far as that is known without asking any. */
export async function assertModel(model: string, context: Pick<ResolveContext, "config" | "env">): Promise<void> {
  await chooseModel({ model }, { ...context, writable: [] });
}

/** The model of an agent: `provider/model` at that provider's own address, or another model of its parent's. */
export async function resolveBeside(
  parent: Pick<ResolvedModel, "provider">,
  model: string,
  context: ResolveContext,
): Promise<ResolvedModel> {
  const chosen = chooseBeside(parent, model, context);
  if (chosen.provider !== parent.provider) assertBaseUrl(chosen.provider);
  return await resolveChosen(chosen, context);
}

/** The provider of an agent's model, and the model's name there. */
export function chooseBeside(
  { provider }: Pick<ResolvedModel, "provider">,
  model: string,
  { config, env }: Pick<ResolveContext, "config" | "env">,
): Chosen {
  const { row, name } = splitName(model, providersOf(config.providers, env));
  return { provider: row ?? provider, name };
}

async function resolveChosen({ provider, name }: Chosen, context: ResolveContext): Promise<ResolvedModel> {
  const { config, env, offline = false, signal, writable, fetch } = context;
  const configured = config.providers.get(provider.name)?.models.get(name);
  const { contextWindow } = config.modelDefaults;
  const isTold = offline || configured?.contextWindow !== undefined;
  const window = isTold ? undefined : await localWindow(provider, name, { usual: contextWindow, fetch });
  const listed = window === undefined ? {} : { contextWindow: window };
  const kept = keptFor(provider, name, context);
  const info = await describeModel(provider, name, { configured, listed, ...(kept && { kept }), contextWindow });

  const headers = offline || provider.headers === undefined ? undefined : headersOf(provider, env);
  const variableKey = keyOf(provider, env);
  if (variableKey !== undefined && !offline) assertSendable(variableKey);
  const key = variableKey ?? (await commandKey(provider, { env, offline, signal, writable }));
  if (key === undefined && provider.keys.length > 0 && !offline) throw await noKeyError(provider, name, context);
  return { provider, info, ...(key && { key }), ...(headers && { headers }) };
}

function keptFor(provider: Provider, name: string, { offline = false, dataDirectory }: ResolveContext) {
  if (offline || dataDirectory === undefined) return undefined;
  return () => keptFacts(provider, name, dataDirectory);
}

type KeySource = Pick<ResolveContext, "env" | "writable"> & { offline: boolean; signal: AbortSignal | undefined };

async function commandKey({ name, keyCommand }: Provider, { env, offline, signal, writable }: KeySource) {
  if (keyCommand === undefined) return undefined;
  const { keyFromCommand, replayKey } = await import("./keycommand.ts");
  return offline
    ? replayKey
    : await keyFromCommand(keyCommand, { provider: name, env, writable, ...(signal && { signal }) });
}

/** A key goes into an HTTP header, so curly quotes and line breaks from a bad copy are refused. */
function assertSendable(key: ApiKey): void {
  const bad = /[^\x20-\x7e]/u.exec(key.value)?.[0]?.codePointAt(0);
  if (bad === undefined) return;
  const character = `U+${bad.toString(16).toUpperCase().padStart(4, "0")}`;
  throw new KodaError(
    "credentials",
    `The key in ${key.variable} cannot be sent: it contains ${character}, expected printable ASCII. ` +
      "Copy it again, without curly quotes or line breaks",
  );
}

type Chosen = { provider: Provider; name: string };

async function chooseModel(choice: ModelChoice, context: ResolveContext): Promise<Chosen> {
  if (isDemo(choice.model)) return { provider: demoProvider, name: "scripted" };
  const rows = providersOf(context.config.providers, context.env);
  if (choice.baseUrl !== undefined) return modelAtUrl(choice, choice.baseUrl, rows);

  const { model } = choice;
  const { provider, name } = await (model === undefined
    ? defaultModel(rows, context)
    : modelNamed(model, rows, context));
  assertBaseUrl(provider);
  return { provider: withFlags(provider, choice), name };
}

function withFlags({ keyCommand, ...provider }: Provider, { apiKeyEnv, wire }: ModelChoice): Provider {
  const key = apiKeyEnv === undefined ? { ...(keyCommand && { keyCommand }) } : { keys: [apiKeyEnv] };
  return { ...provider, ...key, ...(wire && { wire }) };
}

/** With --base-url a provider keeps its name and quirks, but not its key. */
function modelAtUrl(choice: ModelChoice, baseUrl: string, rows: readonly Provider[]): Chosen {
  if (choice.model === undefined)
    throw new KodaError("usage", "--base-url needs a model of that endpoint: add -m NAME");
  const { row, name } = splitName(choice.model, rows);
  const provider = withBaseUrl(baseUrl, row ?? customProvider(customProviderName, baseUrl));
  return { provider: withFlags(provider, choice), name };
}

/** `provider/model`; the name of a model may contain slashes too, so the first part must be a provider. */
function splitName(model: string, rows: readonly Provider[]): { row?: Provider; name: string } {
  const slash = model.indexOf("/");
  const row = rows.find((provider) => provider.name === model.slice(0, slash));
  return row && slash > 0 ? { row, name: model.slice(slash + 1) } : { name: model };
}

async function modelNamed(model: string, rows: readonly Provider[], context: ResolveContext): Promise<Chosen> {
  const { row, name } = splitName(model, rows);
  if (row && name !== "") return { provider: row, name };
  const whole = rows.find((provider) => provider.name === model);
  if (whole?.model !== undefined) return { provider: whole, name: whole.model };
  // Of a recording, where any provider of the user's own could be taken for one that has such a model.
  if (context.offline && row === undefined && model.startsWith(`${customProviderName}/`)) return unknownProvider(model);
  const provider = await ownerOf(model, rows, context);
  if (provider !== undefined) return { provider, name: model };
  if (context.offline) return unknownProvider(model);
  throw unknownModel(model, rows, context);
}

function unknownModel(model: string, rows: readonly Provider[], { config, env }: ResolveContext): KodaError {
  const [prefix = "", ...name] = model.split("/");
  const names = rows.map((provider) => provider.name);
  const isNamed = name.length > 0 && !names.includes(prefix);
  const meant = isNamed ? nearest(prefix, names) : undefined;
  const usable = rows.filter((row) => isReady(row, config.providers, env));
  const here = usable.map(({ name }) => name).join(", ");
  const hint = meant === undefined ? "" : ` (did you mean "${[meant, ...name].join("/")}"?)`;
  if (names.includes(model)) {
    const list = `koda models ${model} lists its models`;
    return new KodaError("usage", `The provider "${model}" has no default model: write ${model}/MODEL; ${list}`);
  }
  const problem = isNamed
    ? `Unknown provider "${prefix}" in the model "${model}"${hint}`
    : `Cannot tell which provider has the model "${model}": write PROVIDER/MODEL`;
  const available = here === "" ? "No provider is configured and no key is set" : `Available here: ${here}`;
  return new KodaError("usage", `${problem}\n${available}; koda models lists all providers`);
}

/** The provider of a replay that is not configured here, which does not matter. */
function unknownProvider(model: string): Chosen {
  const [provider, ...name] = model.split("/");
  const url = "http://replay.invalid/v1";
  if (provider && name.length > 0) return { provider: customProvider(provider, url), name: name.join("/") };
  return { provider: customProvider("replay", url), name: model };
}

/** The provider of a model without a provider in its name: one that describes it, has it, or is the only one here. */
async function ownerOf(
  model: string,
  rows: readonly Provider[],
  { config, env }: ResolveContext,
): Promise<Provider | undefined> {
  const configured = rows.filter((provider) => config.providers.has(provider.name));
  const describing = configured.find((provider) => config.providers.get(provider.name)?.models.has(model));
  if (describing !== undefined) return describing;
  const [only] = configured.length === 1 ? configured : [];
  if (only !== undefined) return (await mayHave(only, model, [only])) ? only : undefined;

  const usable = rows.filter((provider) => isReady(provider, config.providers, env));
  for (const provider of usable) {
    if (await isInCatalog(provider, model)) return provider;
  }
  const [first, ...others] = usable;
  if (first === undefined || others.length > 0) return undefined;
  return (await mayHave(first, model, rows)) ? first : undefined;
}

/**
 * `nosuch/gpt-5` can be the whole name of a model only for a provider whose names have slashes or are not known, and
 * not when its first part is a misspelled provider.
 */
async function mayHave(provider: Provider, model: string, near: readonly Provider[]): Promise<boolean> {
  const [prefix = "", ...name] = model.split("/");
  if (name.length === 0) return true;
  const names = near.map((row) => row.name);
  const builtIn = builtInProviders.find((row) => row.name === provider.name);
  const isMoved = builtIn?.baseUrl !== provider.baseUrl;
  // A server of the user's own may have models of `Qwen/` and `NVIDIA/`, which are not misspelled providers.
  const meant = isMoved && names.includes(prefix.toLowerCase()) ? undefined : nearest(prefix, names);
  if (meant !== undefined) return false;
  if (isMoved) return true;
  const known = await catalogModels(provider);
  return known.length === 0 || known.some((other) => other.includes("/"));
}

/** The default model of the first provider that is configured or has a key, else one that runs on this machine. */
async function defaultModel(
  rows: readonly Provider[],
  { config, env, fetch, offline }: ResolveContext,
): Promise<Chosen> {
  for (const provider of rows) {
    if (isReady(provider, config.providers, env) && provider.model !== undefined)
      return { provider, name: provider.model };
  }
  if (offline) return unknownProvider("unknown");
  for (const { provider, models } of await runningProviders(rows, fetch)) {
    const name = models.find((model) => !/embed/i.test(model));
    if (name !== undefined) return { provider, name };
  }
  throw noModelError(rows.filter((row) => config.providers.has(row.name) || keyOf(row, env) !== undefined));
}

/** `qwen/qwen3-32b` is a model of the provider `qwen`, and may also be the whole name of one that Groq has. */
async function noKeyError(provider: Provider, name: string, { config, env }: ResolveContext): Promise<KodaError> {
  const variables = provider.keys.join(" or ");
  const whole = `${provider.name}/${name}`;
  const ready = providersOf(config.providers, env).filter((row) => isReady(row, config.providers, env));
  const having = await Promise.all(ready.map(async (row) => ((await isInCatalog(row, whole)) ? [row.name] : [])));
  const [other] = having.flat();
  const hint = other === undefined ? "" : `. ${other} has a model of that name too: ${other}/${whole}`;
  return new KodaError(
    "credentials",
    `No API key for the provider "${provider.name}": set ${variables}, or name another variable with --api-key-env${hint}`,
  );
}

/** `almost` are the providers with a key or a configuration that lack something else. */
function noModelError(almost: readonly Provider[]): KodaError {
  const reason = almost.length > 0 ? "none is named" : "no API key is set and no local server is running";
  const message = [
    `No model is available: ${reason}. Do one of these:`,
    ...almost.map((provider) => `  ${wayTo(provider)}`),
    "  set a key, such as OPENAI_API_KEY or ANTHROPIC_API_KEY (koda models lists them all)",
    "  start ollama or LM Studio with a model, on its usual port",
    "  run koda exec -m demo: a scripted model that needs no key and no network",
  ];
  return new KodaError("credentials", message.join("\n"));
}

function wayTo(provider: Provider): string {
  const { name, model, sharedKey = false } = provider;
  const missing = missingVariables(provider);
  const variables = missing === undefined ? "" : `set ${missing}`;
  if (missing !== undefined && model !== undefined && !sharedKey) return `${variables}, to use ${name}`;
  return `name a model of ${name}, as in -m ${name}/${model ?? "MODEL"}${variables === "" ? "" : `, and ${variables}`}`;
}
