import type { ProviderConfig } from "../config/config.ts";
import type { Env } from "../config/paths.ts";
import { KodaError } from "../errors.ts";
import { atVariable, withUrlParts } from "./address.ts";
import { keyOf } from "./key.ts";
import { builtInProviders, type Provider, withDefaults } from "./providers.ts";

/** The name of the provider of --base-url. The configuration may describe its models without giving it a base URL. */
export const customProviderName = "custom";

/**
 * Configured and built-in providers, each at the base URL of its variables. Configuring a built-in provider changes
 * only the keys that are given.
 */
export function providersOf(configured: ReadonlyMap<string, ProviderConfig>, env: Env): Provider[] {
  const builtIn = new Map(builtInProviders.map((provider) => [provider.name, provider]));
  const own = [...configured]
    .filter(([name, { baseUrl }]) => name !== customProviderName || baseUrl !== undefined)
    .map(([name, config]) => withConfig(name, config, builtIn.get(name)));
  for (const provider of own) builtIn.delete(provider.name);
  return [...own, ...builtIn.values()].map((row) => {
    // A key that is configured with a base URL must not be sent to the variable's URL.
    const usualKeys = builtInProviders.find(({ name }) => name === row.name)?.keys ?? [];
    const isMoved = configured.get(row.name)?.baseUrl !== undefined;
    return withUrlParts(atVariable(row, env, isMoved ? { ...withBaseUrl("", row), keys: usualKeys } : row), env);
  });
}

/** True for a provider that may be used without being named: a configured one, or one whose own key is set. */
export function isReady(provider: Provider, configured: ReadonlyMap<string, ProviderConfig>, env: Env): boolean {
  if (provider.missing !== undefined) return false;
  return configured.has(provider.name) || (!provider.sharedKey && keyOf(provider, env) !== undefined);
}

function withConfig(name: string, config: ProviderConfig, builtIn: Provider | undefined): Provider {
  const { baseUrl, apiKeyEnv, apiKeyCommand, headers, wire } = config;
  const [onlyModel, ...others] = config.models.keys();
  if (builtIn === undefined && baseUrl === undefined) {
    throw new KodaError(
      "config",
      `Provider "${name}" has no base URL: set providers.${name}.base_url in the configuration`,
    );
  }
  return {
    ...(builtIn ?? customProvider(name, "")),
    baseUrl: baseUrl ?? builtIn?.baseUrl ?? "",
    // The usual key is not sent to another base URL.
    keys: apiKeyEnv !== undefined ? [apiKeyEnv] : (baseUrl ?? apiKeyCommand) !== undefined ? [] : (builtIn?.keys ?? []),
    ...(apiKeyCommand && { keyCommand: apiKeyCommand }),
    ...(headers && { headers }),
    ...(wire && { wire }),
    ...(onlyModel !== undefined && others.length === 0 && { model: onlyModel }),
  };
}

/** The provider at another base URL: without its keys and headers, which are for its own. */
export function withBaseUrl(baseUrl: string, provider: Provider): Provider {
  const { keyCommand: _command, headers: _headers, missing: _missing, ...rest } = provider;
  return { ...rest, baseUrl, keys: [] };
}

/** A provider of the user's own. */
export function customProvider(name: string, baseUrl: string): Provider {
  return withDefaults({ name, baseUrl, keys: [] });
}
