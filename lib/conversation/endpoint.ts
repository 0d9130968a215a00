import { KodaError } from "../errors.ts";
import { endpointOf } from "../model/address.ts";
import type { ModelSettings } from "../model/model.ts";
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
  if (before === undefined || settings.endpoint.baseUrl !== undefined) return;
  const now = endpointOf(provider);
  if (provider.name === name && before.endpoint === now) return;
  if (provider.name !== name && isNamedByFlag(settings)) return;

  const flags = (url: string, keyVariable: string | undefined) =>
    `--base-url ${url}${keyVariable === undefined ? "" : ` --api-key-env ${keyVariable}`}`;
  const stay = flags(before.endpoint, before.keyVariable);
  const leave = provider.name === name ? flags(now, provider.keys[0]) : `-m ${provider.name}/MODEL`;
  throw new KodaError(
    "usage",
    `Session "${id}" used ${name} at ${before.endpoint}, but this command line leads to ${provider.name} at ${now}. ` +
      `To stay, pass ${stay}; to send the conversation to the new address, pass ${leave}`,
  );
}
