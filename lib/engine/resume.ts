import type { Environment } from "../session/item.ts";
import { lowerMode, type Mode } from "../trust/mode.ts";
import type { Notice } from "./engine.ts";

/** What a run may do, as far as a session records it. */
export type Allowance = { mode: Mode; write: readonly string[] };

/** What this very command line says, and not some file or variable that was there before. */
export type Explicit = { mode: boolean; write: readonly string[] };

/**
 * A resumed session stays within what it was allowed when it was recorded. Only a flag on this command line widens it:
 * a configuration that changed in the meantime does not.
 */
export function keepToRecord(
  recorded: Environment | undefined,
  wanted: Allowance,
  explicit: Explicit,
): { allowance: Allowance; notices: Notice[] } {
  if (recorded === undefined) return { allowance: wanted, notices: [] };

  const mode = explicit.mode ? wanted.mode : lowerMode(wanted.mode, recorded.mode);
  const known = new Set([...recorded.writable, ...explicit.write]);
  const write = wanted.write.filter((path) => known.has(path));
  const notices: Notice[] = [];
  if (mode !== wanted.mode)
    notices.push(notice(`the session was recorded in mode "${mode}" and stays there: pass --mode to change it`));
  for (const path of wanted.write)
    if (!known.has(path))
      notices.push(notice(`"${path}" was not writable in this session: pass --allow-write to make it so`));
  return { allowance: { mode, write }, notices };
}

/** Another model goes on with what this one said: worth a word, since answers and costs may differ. */
export function modelChange(recorded: Environment | undefined, now: { model: string; provider: string }): Notice[] {
  if (recorded === undefined) return [];
  if (recorded.model === now.model && recorded.provider === now.provider) return [];
  const before = `${recorded.provider}/${recorded.model}`;
  return [
    {
      type: "notice",
      level: "warn",
      code: "model_changed",
      message: `The session was recorded with ${before} and goes on with ${now.provider}/${now.model}`,
    },
  ];
}

function notice(message: string): Notice {
  return { type: "notice", level: "warn", code: "kept_narrow", message };
}
