import { projectConfigName } from "../config/paths.ts";
import { KodaError } from "../errors.ts";
import { endpointOf } from "../model/address.ts";
import { isDemo } from "../model/demoname.ts";
import type { ModelSettings } from "../model/model.ts";
import { customProviderName, providersOf } from "../model/configured.ts";
import type { ResolvedModel } from "../model/resolve.ts";
import type { ConnectionFacts } from "../session/item.ts";
import type { Recorded } from "./sessions.ts";
import type { Settings } from "./settings.ts";

/** The part of a connection that a session records: enough to detect another address, and no secret. */
export function connectionFacts({ provider, info, key }: ResolvedModel, settings: ModelSettings): ConnectionFacts {
  return {
    endpoint: endpointOf(provider),
    wire: info.wire,
    ...(key?.variable !== undefined && { keyVariable: key.variable }),
    ...settings,
  };
}

/** True when this command line itself names a model. */
export function isModelFlag({ loaded }: Pick<Settings, "loaded">): boolean {
  return loaded.origins.get("model")?.startsWith("flag") ?? false;
}

/** True when this command line itself names a model or an address. */
export function isNamedByFlag(settings: Pick<Settings, "loaded" | "endpoint">): boolean {
  return settings.endpoint.baseUrl !== undefined || isModelFlag(settings);
}

/** The providers of the configuration; one that has been removed since keeps its name at the address of --base-url. */
export function providersFor(recorded: Recorded | undefined, { loaded, endpoint, env }: Settings) {
  const { providers } = loaded.config;
  const { baseUrl } = endpoint;
  if (recorded === undefined || baseUrl === undefined || isUnnamed(recorded)) return providers;
  const { provider } = recorded.info;
  if (providersOf(providers, env).some(({ name }) => name === provider)) return providers;
  return new Map([...providers, [provider, { baseUrl, models: new Map<string, never>() }]]);
}

/** A session's provider must still have its name, which otherwise could be taken for the name of a model. */
export function assertConfigured(recorded: Recorded, { loaded, env }: Settings): void {
  const { id, provider, model } = recorded.info;
  if (isDemo(provider) || providersOf(loaded.config.providers, env).some(({ name }) => name === provider)) return;
  const before = recorded.environment?.connection;
  const stay = flagsFor(before?.endpoint ?? "URL", before?.keyVariable);
  const trust = ignoresProviders(loaded) ? "--trust-project to use the project's own providers, " : "";
  const other = "or name another model with -m PROVIDER/MODEL";
  if (isUnnamed(recorded))
    throw new KodaError(
      "config",
      `The provider of session "${id}" is not known: its model "${model}" was used by address. Pass ${stay}, ${other}`,
    );
  throw new KodaError(
    "config",
    `Session "${id}" used ${provider}/${model}, and the provider "${provider}" is not configured any more: ` +
      `add providers.${provider} to the configuration, pass ${trust}${stay}, ${other}`,
  );
}

function ignoresProviders({ project }: Settings["loaded"]): boolean {
  return project.skipped.includes(`${projectConfigName}: providers`);
}

/** The same error. A start that fails shows nothing else of what was ignored. */
export function withIgnored(error: unknown, { loaded }: Pick<Settings, "loaded">): unknown {
  const isAboutModel = error instanceof KodaError && ["credentials", "config", "usage"].includes(error.code);
  if (!isAboutModel || !ignoresProviders(loaded)) return error;
  const hint = `The project's own providers were ignored: --trust-project uses those of ${projectConfigName}`;
  return new KodaError(error.code, `${error.message}\n${hint}`, { cause: error });
}

/** The same error, with the session and the key that it had. */
export function withoutKey({ info, environment }: Recorded, { message }: KodaError): KodaError {
  const variable = environment?.connection?.keyVariable;
  const before = variable === undefined ? "" : `, with the key in ${variable} (--api-key-env ${variable})`;
  const { id, provider, model } = info;
  return new KodaError(
    "credentials",
    `Session "${id}" used ${provider}/${model}${before}. ${message}; -m PROVIDER/MODEL continues with another model`,
  );
}

/**
 * A conversation moves to another address only when a flag says so: a provider's name may have been given another
 * address since, and the conversation was meant for the first.
 */
export function assertSameEndpoint(
  { info: { id, provider: name }, environment }: Recorded,
  { provider }: ResolvedModel,
  settings: Settings,
): void {
  const before = environment?.connection;
  // Another provider was named by a flag.
  if (before === undefined || settings.endpoint.baseUrl !== undefined || provider.name !== name) return;
  const now = endpointOf(provider);
  if (before.endpoint === now) return;
  const source = provider.baseUrlVariable === undefined ? "" : ` (${provider.baseUrlVariable})`;
  throw new KodaError(
    "config",
    `Session "${id}" used ${name} at ${before.endpoint}, but ${name} is now at ${now}${source}. ` +
      `To stay, pass ${flagsFor(before.endpoint, before.keyVariable)}; ` +
      `to send the conversation to the new address, pass ${flagsFor(now, provider.keys[0])}`,
  );
}

/** A session keeps its wire at its provider until a flag replaces it. */
export function withRecordedWire(
  resolved: ResolvedModel,
  settings: Settings,
  recorded: Recorded | undefined,
): ResolvedModel {
  const { provider, info } = resolved;
  const before = recorded?.environment?.connection;
  if (before === undefined || settings.endpoint.wire !== undefined) return resolved;
  if (provider.name !== recorded?.info.provider) return resolved;
  if (isModelFlag(settings) && before.endpoint !== endpointOf(provider)) return resolved;
  const { wire } = before;
  return { ...resolved, provider: { ...provider, wire }, info: { ...info, wire } };
}

function isUnnamed({ info }: Recorded): boolean {
  return info.provider === customProviderName;
}

function flagsFor(url: string, keyVariable: string | undefined): string {
  return `--base-url ${url}${keyVariable === undefined ? "" : ` --api-key-env ${keyVariable}`}`;
}
