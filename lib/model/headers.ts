import { expandVariables, variablesIn } from "../config/mask.ts";
import type { Env } from "../config/paths.ts";
import { KodaError } from "../errors.ts";
import { isNamedSecret, shortestSecret } from "../shell/env.ts";
import type { Provider } from "./providers.ts";

/** The user's own headers for each request to a provider. */
export type ExtraHeaders = {
  readonly values: Readonly<Record<string, string>>;
  /** Parts of the values that no message and no cassette may repeat. */
  readonly secrets: readonly string[];
};

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
function isSecretHeader(name: string): boolean {
  return isNamedSecret(name) || /auth|cookie/i.test(name);
}

function headerError(name: string, provider: string, problem: string): KodaError {
  return new KodaError("credentials", `Cannot set the header "${name}" of the provider "${provider}": ${problem}`);
}
