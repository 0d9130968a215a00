import type { ModelInfo } from "./model.ts";

/**
 * An encrypted thought as the token of a ThinkingPart. It names its model: no other model can read it, and a session
 * may continue with another one.
 */
export function thoughtToken(encrypted: string, info: ModelInfo): string {
  return `${owner(info)} ${encrypted}`;
}

/** The encrypted thought in a token of this model. */
export function thoughtOf(token: string | undefined, info: ModelInfo): string | undefined {
  const prefix = `${owner(info)} `;
  return token?.startsWith(prefix) ? token.slice(prefix.length) : undefined;
}

function owner({ provider, name }: ModelInfo): string {
  return `${provider}/${name}`;
}
