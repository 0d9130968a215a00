import type { Config } from "../config/config.ts";
import { KodaError } from "../errors.ts";
import { nearest } from "../nearest.ts";
import { assertAddress, type Environment, isHttpUrl } from "./address.ts";
import { catalogedModels, describeModel } from "./catalog.ts";
import { demoProvider } from "./demo.ts";
import { isDemo } from "./demoname.ts";
import type { Fetch } from "./fetch.ts";
import { type ExtraHeaders, headersOf } from "./headers.ts";
import type { ModelInfo, Wire } from "./model.ts";
import { localOffers } from "./offer.ts";
import {
  type ApiKey,
  builtInProviders,
  flagProvider,
  keyOf,
  movedTo,
  ownProvider,
  type Provider,
  providersOf,
} from "./providers.ts";

/** What the user asked for: flags, environment and configuration, already merged. */
export type Wanted = { model?: string; baseUrl?: string; apiKeyEnv?: string; wire?: Wire };

export type Surroundings = {
  config: Pick<Config, "providers" | "modelDefaults">;
  env: Environment;
  /** Who answers on loopback is asked through it. */
  fetch?: Fetch;
  /** For a replay: no key is needed, nobody is asked, and a provider may have gone since. */
  offline?: boolean;
  /** Ends the wait for a program that prints the key. */
  signal?: AbortSignal;
  /** Directories that commands may write to: no program that prints a key is taken from there. */
  writable: readonly string[];
};

export type Resolved = { provider: Provider; info: ModelInfo; key?: ApiKey; headers?: ExtraHeaders };

/** From what the user asked for to one model of one provider with its key. */
export async function resolveModel(wanted: Wanted, surroundings: Surroundings): Promise<Resolved> {
  const { provider, name } = await choose(wanted, surroundings);
  const { config, env, offline = false, signal, writable } = surroundings;
  const info = await describeModel(provider, name, {
    configured: config.providers.get(provider.name)?.models.get(name),
    contextWindow: config.modelDefaults.contextWindow,
  });

  const headers = offline || provider.headers === undefined ? undefined : headersOf(provider, env);
  const held = keyOf(provider, env);
  if (held !== undefined && !offline) assertSendable(held);
  const key = held ?? (await commandKey(provider, { env, offline, signal, writable }));
  if (key === undefined && provider.keys.length > 0 && !offline) throw noKey(provider);
  return { provider, info, ...(key && { key }), ...(headers && { headers }) };
}

type KeySource = Pick<Surroundings, "env" | "writable"> & { offline: boolean; signal: AbortSignal | undefined };

async function commandKey({ name, keyCommand }: Provider, { env, offline, signal, writable }: KeySource) {
  if (keyCommand === undefined) return undefined;
  const { keyFromCommand, recordedKey } = await import("./keycommand.ts");
  return offline
    ? recordedKey
    : await keyFromCommand(keyCommand, { provider: name, env, writable, ...(signal && { signal }) });
}

/** A key goes into an HTTP header, which takes no curly quotes and no line breaks: such a key was copied badly. */
function assertSendable(key: ApiKey): void {
  const bad = /[^\x20-\x7e]/u.exec(key.value)?.[0]?.codePointAt(0);
  if (bad === undefined) return;
  const character = `U+${bad.toString(16).toUpperCase().padStart(4, "0")}`;
  throw new KodaError(
    "credentials",
    `The key in ${key.variable} cannot be sent: it contains ${character}, and a key is plain ASCII. Copy it again, without curly quotes or line breaks`,
  );
}

type Choice = { provider: Provider; name: string };

async function choose(wanted: Wanted, surroundings: Surroundings): Promise<Choice> {
  if (isDemo(wanted.model)) return { provider: demoProvider, name: "scripted" };
  const rows = providersOf(surroundings.config.providers, surroundings.env);
  if (wanted.baseUrl !== undefined) return ownEndpoint(wanted, wanted.baseUrl, rows);

  const choice =
    wanted.model === undefined ? await anyModel(rows, surroundings) : await named(wanted.model, rows, surroundings);
  assertAddress(choice.provider);
  return { ...choice, provider: withFlags(choice.provider, wanted) };
}

function withFlags({ keyCommand, ...provider }: Provider, { apiKeyEnv, wire }: Wanted): Provider {
  const key = apiKeyEnv === undefined ? { ...(keyCommand && { keyCommand }) } : { keys: [apiKeyEnv] };
  return { ...provider, ...key, ...(wire && { wire }) };
}

/** With --base-url a provider keeps its name and its ways, but not its key: that is for its own address. */
function ownEndpoint(wanted: Wanted, baseUrl: string, rows: readonly Provider[]): Choice {
  if (wanted.model === undefined) {
    throw new KodaError("usage", `--base-url needs a model of that endpoint: add -m NAME`);
  }
  if (!isHttpUrl(baseUrl)) {
    throw new KodaError(
      "usage",
      `--base-url "${baseUrl}" is not an http or https URL, such as http://127.0.0.1:8080/v1`,
    );
  }
  const { row, name } = splitName(wanted.model, rows);
  const provider = movedTo(baseUrl, row ?? ownProvider(flagProvider, baseUrl));
  return { provider: withFlags(provider, wanted), name };
}

/** `provider/model`; a model's own name may have slashes too, so the first part counts only when it is a provider. */
function splitName(model: string, rows: readonly Provider[]): { row?: Provider; name: string } {
  const slash = model.indexOf("/");
  const row = rows.find((provider) => provider.name === model.slice(0, slash));
  return row && slash > 0 ? { row, name: model.slice(slash + 1) } : { name: model };
}

async function named(model: string, rows: readonly Provider[], surroundings: Surroundings): Promise<Choice> {
  const { row, name } = splitName(model, rows);
  if (row && name !== "") return { provider: row, name };
  const whole = rows.find((provider) => provider.name === model);
  if (whole?.model !== undefined) return { provider: whole, name: whole.model };
  const provider = await ownerOf(model, rows, surroundings);
  if (provider !== undefined) return { provider, name: model };
  if (surroundings.offline) return nobody(model);

  throw unknownModel(model, rows, surroundings);
}

function unknownModel(model: string, rows: readonly Provider[], { config, env }: Surroundings): KodaError {
  const [prefix = "", ...name] = model.split("/");
  const isNamed = name.length > 0;
  const names = rows.map((provider) => provider.name);
  const meant = isNamed ? nearest(prefix, names) : undefined;
  const usable = rows.filter((row) => config.providers.has(row.name) || keyOf(row, env) !== undefined);
  const here = usable.map(({ name }) => name).join(", ");
  const hint = meant === undefined ? "" : ` (did you mean "${[meant, ...name].join("/")}"?)`;
  const problem = isNamed
    ? `Unknown provider "${prefix}" in the model "${model}"${hint}`
    : `Cannot tell which provider has the model "${model}": write PROVIDER/MODEL`;
  const available = here === "" ? "None is configured here and no key is set" : `Available here: ${here}`;
  return new KodaError("usage", `${problem}\n${available}; koda models lists all providers`);
}

/** A replayed provider that is not known here, which does not matter. */
function nobody(model: string): Choice {
  const [provider, ...name] = model.split("/");
  const named = provider && name.length > 0;
  return {
    provider: ownProvider(named ? provider : "replay", "http://replay.invalid/v1"),
    name: named ? name.join("/") : model,
  };
}

/** Whose model a name without a provider is: who is configured with it, who is known for it, who is the only one here. */
async function ownerOf(
  model: string,
  rows: readonly Provider[],
  { config, env }: Surroundings,
): Promise<Provider | undefined> {
  const configured = rows.filter((provider) => config.providers.has(provider.name));
  const describing = configured.find((provider) => config.providers.get(provider.name)?.models.has(model));
  if (describing !== undefined) return describing;
  const [only] = configured.length === 1 ? configured : [];
  if (only !== undefined) return (await mayHave(only, model, [only])) ? only : undefined;

  const usable = rows.filter((provider) => keyOf(provider, env) !== undefined);
  for (const provider of usable) {
    if ((await catalogedModels(provider)).includes(model)) return provider;
  }
  const [first, ...others] = usable;
  if (first === undefined || others.length > 0) return undefined;
  return (await mayHave(first, model, rows)) ? first : undefined;
}

/**
 * `nosuch/gpt-5` is a model's whole name only for a provider whose names have slashes, or whose names are not known; and
 * not when its first part is nearly the name of a provider.
 */
async function mayHave(provider: Provider, model: string, near: readonly Provider[]): Promise<boolean> {
  const [prefix = "", ...name] = model.split("/");
  if (name.length === 0) return true;
  const names = near.map((row) => row.name);
  if (nearest(prefix, names) !== undefined) return false;
  const usual = builtInProviders.find((row) => row.name === provider.name);
  if (usual?.baseUrl !== provider.baseUrl) return true;
  const known = await catalogedModels(provider);
  return known.length === 0 || known.some((other) => other.includes("/"));
}

/** No model was named: the configured provider's, that of the first key there is, or one that runs on this machine. */
async function anyModel(rows: readonly Provider[], { config, env, fetch, offline }: Surroundings): Promise<Choice> {
  for (const provider of rows) {
    const usable = config.providers.has(provider.name) || keyOf(provider, env) !== undefined;
    if (usable && provider.model !== undefined) return { provider, name: provider.model };
  }
  if (offline) return nobody("unknown");
  for (const { provider, models } of await localOffers(rows, fetch)) {
    const name = models.find((model) => !/embed/i.test(model));
    if (name !== undefined) return { provider, name };
  }
  throw nothingConfigured();
}

function noKey(provider: Provider): KodaError {
  const variables = provider.keys.join(" or ");
  return new KodaError(
    "credentials",
    `No API key for the provider "${provider.name}": set ${variables}, or name another variable with --api-key-env`,
  );
}

function nothingConfigured(): KodaError {
  const message = [
    "No model is available: no API key is set and no local server is running. Do one of these:",
    "  set a key, such as OPENAI_API_KEY or ANTHROPIC_API_KEY (koda models lists them all)",
    "  start ollama or LM Studio with a model, on its usual port",
    "  run koda exec -m demo: a scripted model that needs neither key nor network",
  ];
  return new KodaError("credentials", message.join("\n"));
}
