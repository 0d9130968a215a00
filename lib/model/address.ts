import { httpUrl } from "../config/types.ts";
import { isPublicParameter, maskQuery } from "../config/mask.ts";
import { KodaError } from "../errors.ts";
import { shortestSecret } from "../shell/env.ts";
import type { Provider } from "./providers.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The variables by which a provider's own clients find its address, and the path that they append to it: koda takes
 * what is set for them.
 */
export type AddressVariables = { readonly names: readonly string[]; readonly path?: string };

/** The provider at the address that its variable holds, if that is set: then it is as `moved` says. */
export function atVariable(provider: Provider, env: Environment, moved: Provider): Provider {
  for (const variable of provider.addressVariables?.names ?? []) {
    const value = env[variable]?.trim();
    if (value) return { ...moved, baseUrl: completed(value, provider), addressFrom: variable };
  }
  return provider;
}

/** `OLLAMA_HOST` may be a host alone, and is the address that a server listens on as well. */
function completed(value: string, { addressVariables, local }: Provider): string {
  const withScheme = local && !value.includes("://") ? `http://${value}` : value;
  const url = URL.parse(withScheme);
  const path = addressVariables?.path;
  if (url === null || path === undefined) return withScheme;
  if (local && url.hostname === "0.0.0.0") url.hostname = "127.0.0.1";
  if (local && url.port === "" && !value.includes("://")) url.port = "11434";
  const end = path.slice(path.lastIndexOf("/"));
  const before = url.pathname.replace(/\/+$/, "");
  if (!before.endsWith(end)) url.pathname = `${before}${path}`;
  return url.href;
}

/** Checked only for the provider that is used: others may be set up for other programs. */
export function assertAddress({ name, baseUrl, addressFrom }: Provider): void {
  if (addressFrom === undefined || httpUrl.read(baseUrl) !== undefined) return;
  throw new KodaError(
    "config",
    `Cannot use the provider "${name}": ${addressFrom} is "${withoutSecrets(baseUrl)}", expected ${httpUrl.expected}`,
  );
}

export function isHttpUrl(text: string): boolean {
  return /^https?:\/\/[^/]/.test(text) && URL.canParse(text);
}

/** An address below the base URL, whose query (an API version, say) stays at the end. */
export function addressOf({ baseUrl }: Pick<Provider, "baseUrl">, path: string): string {
  const end = baseUrl.includes("?") ? baseUrl.indexOf("?") : baseUrl.length;
  return baseUrl.slice(0, end).replace(/\/+$/, "") + path + baseUrl.slice(end);
}

/** The address as it is shown and recorded: without a password and without a query, which may hold a key. */
export function endpointOf({ baseUrl }: Pick<Provider, "baseUrl">): string {
  const url = URL.parse(baseUrl);
  return url === null ? baseUrl : `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

/** The values in a query that no message may repeat, even where a provider quotes them. */
export function querySecrets({ baseUrl }: Pick<Provider, "baseUrl">): string[] {
  const query = URL.parse(baseUrl)?.searchParams ?? new URLSearchParams();
  return [...query]
    .filter(([name]) => !isPublicParameter(name))
    .map(([name, value]) => value || name)
    .filter((secret) => secret.length >= shortestSecret);
}

/** The address as it may be printed for using it again: without credentials, and with public parameters alone. */
export function withoutSecrets(baseUrl: string): string {
  const url = URL.parse(baseUrl);
  if (url === null) return maskQuery(baseUrl.replace(/\/\/[^/@]*@/, "//"));
  const hidden = [...url.searchParams.keys()].filter((name) => !isPublicParameter(name));
  if (hidden.length === 0 && url.username + url.password + url.hash === "") return baseUrl;
  for (const name of hidden) url.searchParams.delete(name);
  url.username = url.password = url.hash = "";
  return url.href;
}
