import type { Env } from "../config/paths.ts";
import { shortestSecret } from "../shell/env.ts";
import type { Provider } from "./providers.ts";

/** A provider's key. */
export type ApiKey = {
  readonly value: string;
  /** The variable that holds it; absent for a key of `api_key_command`. */
  readonly variable?: string;
  /** Only for a key of `api_key_command`. */
  readonly isExpired?: () => boolean;
  /** Runs that command again and replaces `value`. */
  readonly renew?: (signal: AbortSignal) => Promise<void>;
};

/** False for a key that may stand in another text by accident. */
export function isRecognizable({ value }: ApiKey): boolean {
  return value.length >= shortestSecret;
}

/** The source of a key, for messages. */
export function keySource({ variable = "api_key_command" }: ApiKey): string {
  return variable;
}

export function keyOf(provider: Provider, env: Env): ApiKey | undefined {
  for (const variable of provider.keys) {
    const value = env[variable]?.trim();
    if (value) return { value, variable };
  }
  return undefined;
}
