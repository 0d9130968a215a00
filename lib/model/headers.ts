import { expandVariables, variablesIn } from "../config/mask.ts";
import { KodaError } from "../errors.ts";
import { isNamedSecret, shortestSecret } from "../shell/env.ts";
import type { Environment } from "./address.ts";
import type { Provider } from "./providers.ts";

/** The headers that the user wants on each request to a provider. */
export type ExtraHeaders = {
  readonly values: Readonly<Record<string, string>>;
  /** The parts of the values that no message and no cassette may repeat. */
  readonly secrets: readonly string[];
};

/** The provider's headers with the values of the variables that they name. */
export function headersOf({ name: provider, headers = new Map() }: Provider, env: Environment): ExtraHeaders {
  const values: Record<string, string> = {};
  const secrets = new Set<string>();
  for (const [name, template] of headers) {
    const value = expandVariables(template, (variable, fallback) => {
      const found = env[variable]?.trim() || fallback;
      if (found === undefined) throw notSet({ provider, name, variable });
      if (isNamedSecret(variable)) secrets.add(env[variable]?.trim() ?? "");
      return found;
    });
    if (!/^[\x20-\x7e]+$/.test(value)) throw notPrintable(provider, name);
    values[name] = value;
    if (isSecretHeader(name)) secrets.add(value.replace(/^(?:Bearer|Basic|Token) /i, ""));
  }
  return { values, secrets: [...secrets].filter((secret) => secret.length >= shortestSecret) };
}

/** The variables that may hold a provider's key or a secret of its headers: commands never see them. */
export function secretVariables({ keys, headers = new Map() }: Provider): string[] {
  const named = [...headers].flatMap(([name, template]) =>
    variablesIn(template).filter((variable) => isSecretHeader(name) || isNamedSecret(variable)),
  );
  return [...keys, ...named];
}

/** Other headers say who asks or from where (`"x-user": "${USER}"`), which commands may know. */
function isSecretHeader(name: string): boolean {
  return isNamedSecret(name) || /auth|cookie/i.test(name);
}

function notSet({ provider, name, variable }: { provider: string; name: string; variable: string }): KodaError {
  return new KodaError(
    "credentials",
    `Cannot make the header "${name}" for the provider "${provider}": the environment variable ${variable} is not set`,
  );
}

function notPrintable(provider: string, name: string): KodaError {
  return new KodaError(
    "credentials",
    `Cannot send the header "${name}" to the provider "${provider}": expected one line of printable ASCII characters`,
  );
}
