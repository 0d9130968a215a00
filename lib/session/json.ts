import type { LoggedItem } from "./item.ts";
import type { SessionInfo } from "./log.ts";

/** A session's figures, named as in all of koda's output for scripts. */
export function sessionJson(info: SessionInfo) {
  const { id, title, cwd, model, turns, costUsd, parent, root, agent, runAs } = info;
  return {
    id,
    title,
    cwd,
    model,
    created_at: new Date(info.createdAt).toISOString(),
    updated_at: new Date(info.updatedAt).toISOString(),
    turns,
    tokens: totalTokens(info),
    cost_usd: costUsd,
    ...(parent !== undefined && { parent }),
    ...(agent !== undefined && { agent, root }),
    ...(agent === undefined && runAs !== null && { run_as: runAs }),
  };
}

/** Null when none were ever reported. */
export function totalTokens({ usage: { input, output } }: SessionInfo): number | null {
  return input === null && output === null ? null : (input ?? 0) + (output ?? 0);
}

export function itemJson({ seq, turn, kind, at, ...rest }: LoggedItem): Record<string, unknown> {
  const named = Object.entries(rest).map(([key, value]) => [snakeCase(key), value] as const);
  return { seq, turn, kind, at: new Date(at).toISOString(), ...Object.fromEntries(named) };
}

function snakeCase(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
