import { type Wire, wires } from "../config/config.ts";
import { isPublicParameter, maskQuery } from "../config/mask.ts";
import type { Env } from "../config/paths.ts";
import { httpUrl } from "../config/types.ts";
import { KodaError } from "../errors.ts";
import { shortestSecret } from "../shell/env.ts";
import type { Provider } from "./providers.ts";

/** The variables that a provider's own clients read its base URL from, and the path that they append to it. */
export type BaseUrlVariables = { readonly names: readonly string[]; readonly path?: string };

/** The provider at the base URL of the first variable that is set: `moved` with that URL. */
export function atVariable(provider: Provider, env: Env, moved: Provider): Provider {
  for (const variable of provider.baseUrlVariables?.names ?? []) {
    const value = env[variable]?.trim();
    if (value) return { ...moved, baseUrl: completeUrl(value, provider), baseUrlVariable: variable };
  }
  return provider;
}

/** `OLLAMA_HOST` may be only a host, and is also the address that a server listens on. */
function completeUrl(value: string, { baseUrlVariables, local }: Provider): string {
  const withScheme = local && !value.includes("://") ? `http://${value}` : value;
  const url = URL.parse(withScheme);
  const path = baseUrlVariables?.path;
  if (url === null || path === undefined) return withScheme;
  if (local && url.hostname === "0.0.0.0") url.hostname = "127.0.0.1";
  if (local && url.port === "" && !value.includes("://")) url.port = "11434";
  const end = path.slice(path.lastIndexOf("/"));
  const before = url.pathname.replace(/\/+$/, "");
  if (!before.endsWith(end)) url.pathname = `${before}${path}`;
  return url.href;
}

/** Checked only for the provider that is used: the variables of others may be set for other programs. */
export function assertBaseUrl({ name, baseUrl, baseUrlVariable }: Provider): void {
  if (baseUrlVariable === undefined || httpUrl.read(baseUrl) !== undefined) return;
  throw new KodaError(
    "config",
    `Cannot use the provider "${name}": ${baseUrlVariable} is "${withoutSecrets(baseUrl)}", ` +
      `expected ${httpUrl.expected}`,
  );
}

/** The URL of a path below the base URL, whose query (an API version, say) stays at the end. */
export function requestUrl({ baseUrl }: Pick<Provider, "baseUrl">, path: string): string {
  const end = baseUrl.includes("?") ? baseUrl.indexOf("?") : baseUrl.length;
  return baseUrl.slice(0, end).replace(/\/+$/, "") + path + baseUrl.slice(end);
}

/** The path of each wire below the base URL. */
const wirePaths: Readonly<Record<Wire, string>> = {
  chat: "/chat/completions",
  responses: "/responses",
  messages: "/messages",
};

/** Google has Claude at the same protocol, but the model's name in the address. */
const googlePath = ":streamRawPredict";

export function isGoogleMessages({ baseUrl }: Pick<Provider, "baseUrl">): boolean {
  return /\/publishers\/anthropic\/?$/.test(URL.parse(baseUrl)?.pathname ?? "");
}

/** The address of requests to a model. */
export function modelUrl(wire: Wire, provider: Pick<Provider, "baseUrl">, model: string): string {
  const isGoogle = wire === "messages" && isGoogleMessages(provider);
  return requestUrl(provider, isGoogle ? `/models/${encodeURIComponent(model)}${googlePath}` : wirePaths[wire]);
}

export function wireOfPath(path: string): Wire | undefined {
  return path.endsWith(googlePath) ? "messages" : wires.find((wire) => path.endsWith(wirePaths[wire]));
}

/** The base URL for messages and records: without user name and query, which may hold a key. */
export function endpointOf({ baseUrl }: Pick<Provider, "baseUrl">): string {
  const url = URL.parse(baseUrl);
  return url === null ? baseUrl : `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

/** Values in the query that no message may repeat, even when a provider quotes them. */
export function querySecrets({ baseUrl }: Pick<Provider, "baseUrl">): string[] {
  const query = URL.parse(baseUrl)?.searchParams ?? new URLSearchParams();
  return [...query]
    .filter(([name]) => !isPublicParameter(name))
    .map(([name, value]) => value || name)
    .filter((secret) => secret.length >= shortestSecret);
}

/** The base URL for a command line that is printed: without credentials, and only with public parameters. */
export function withoutSecrets(baseUrl: string): string {
  const url = URL.parse(baseUrl);
  if (url === null) return maskQuery(baseUrl.replace(/\/\/[^/@]*@/, "//"));
  const hidden = [...url.searchParams.keys()].filter((name) => !isPublicParameter(name));
  if (hidden.length === 0 && url.username + url.password + url.hash === "") return baseUrl;
  for (const name of hidden) url.searchParams.delete(name);
  url.username = url.password = url.hash = "";
  return url.href;
}
