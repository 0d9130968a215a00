import type { Wire } from "../config/config.ts";
import { expandVariables, variablesIn } from "../config/mask.ts";
import type { Env } from "../config/paths.ts";
import { KodaError } from "../errors.ts";
import { isNamedSecret, shortestSecret } from "../shell/env.ts";
import type { ModelEndpoint } from "./endpoint.ts";
import type { ApiKey } from "./key.ts";
import type { Provider } from "./providers.ts";

/** The user's own headers for each request to a provider. */
export type ExtraHeaders = {
  readonly values: Readonly<Record<string, string>>;
  /** Parts of the values that no message and no cassette may repeat. */
  readonly secrets: readonly string[];
};

/** The headers that a wire asks for: the key, and the version of the protocol. */
export function protocolHeaders(wire: Wire, { provider, key }: Pick<ModelEndpoint, "provider" | "key">) {
  const headers: Record<string, string> = wire === "messages" ? { "anthropic-version": "2023-06-01" } : {};
  if (key === undefined) return headers;
  const [named, bearer] = [wire === "messages" && !isToken(key), wire !== "messages" || !isAnthropic(provider)];
  if (named) headers["x-api-key"] = key.value;
  if (bearer || !named) headers.authorization = `Bearer ${key.value}`;
  return headers;
}

/** Anthropic takes a key only in its own header. Other servers of its protocol read that one, or the usual one. */
function isAnthropic({ baseUrl }: Provider): boolean {
  return /(?:^|\.)anthropic\.com$/.test(URL.parse(baseUrl)?.hostname ?? "");
}

/** Anthropic's clients have another variable for a bearer token. */
function isToken({ variable }: ApiKey): boolean {
  return variable === "ANTHROPIC_AUTH_TOKEN";
}

/** The provider's headers with their variables replaced. */
export function headersOf({ name: provider, headers = new Map() }: Provider, env: Env): ExtraHeaders {
  const values: Record<string, string> = {};
  const secrets = new Set<string>();
  for (const [name, template] of headers) {
    const value = expandVariables(template, (variable, fallback) => {
      const found = env[variable]?.trim() || fallback;
      if (found === undefined) throw headerError(name, provider, `the environment variable ${variable} is not set`);
      if (isNamedSecret(variable)) secrets.add(env[variable]?.trim() ?? "");
      return found;
    });
    if (!/^[\x20-\x7e]+$/.test(value))
      throw headerError(name, provider, "expected one line of printable ASCII characters");
    values[name] = value;
    if (isSecretHeader(name)) secrets.add(value.replace(/^(?:Bearer|Basic|Token) /i, ""));
  }
  return { values, secrets: [...secrets].filter((secret) => secret.length >= shortestSecret) };
}

/** The variables that may hold a provider's key or a secret in its headers: commands never see them. */
export function secretVariables({ keys, headers = new Map() }: Provider): string[] {
  const named = [...headers].flatMap(([name, template]) =>
    variablesIn(template).filter((variable) => isSecretHeader(name) || isNamedSecret(variable)),
  );
  return [...keys, ...named];
}

/** Other headers name the user or the team (`"x-user": "${USER}"`), which commands may know. */
export function isSecretHeader(name: string): boolean {
  return isNamedSecret(name) || /auth|cookie/i.test(name);
}

function headerError(name: string, provider: string, problem: string): KodaError {
  return new KodaError("credentials", `Cannot set the header "${name}" of the provider "${provider}": ${problem}`);
}
