import type { ModelInfo } from "./model.ts";

/**
 * An encrypted thought as a ThinkingPart's token. It names the model that had it: no other one can read it, and a
 * session may go on with another model.
 */
export function thoughtToken(encrypted: string, info: ModelInfo): string {
  return `${owner(info)} ${encrypted}`;
}

/** The encrypted thought, when this model had it. */
export function thoughtOf(token: string | undefined, info: ModelInfo): string | undefined {
  const prefix = `${owner(info)} `;
  return token?.startsWith(prefix) ? token.slice(prefix.length) : undefined;
}

function owner({ provider, name }: ModelInfo): string {
  return `${provider}/${name}`;
}
