import type { LoggedItem } from "./item.ts";
import type { SessionInfo } from "./log.ts";

/** A session's figures, named as in all of koda's output for scripts. */
export function sessionJson(info: SessionInfo) {
  const { id, title, cwd, model, turns, usage, parent } = info;
  const { input, output } = usage;
  return {
    id,
    title,
    cwd,
    model,
    created_at: new Date(info.createdAt).toISOString(),
    updated_at: new Date(info.updatedAt).toISOString(),
    turns,
    tokens: input === null && output === null ? null : (input ?? 0) + (output ?? 0),
    ...(parent !== undefined && { parent }),
  };
}

export function itemJson({ seq, turn, kind, at, ...rest }: LoggedItem): Record<string, unknown> {
  const named = Object.entries(rest).map(([key, value]) => [snakeCase(key), value] as const);
  return { seq, turn, kind, at, ...Object.fromEntries(named) };
}

function snakeCase(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
