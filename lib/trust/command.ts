import type { Claim } from "../tools/tool.ts";

/** Where a command is judged from. All paths are absolute and real. */
export type Place = {
  root: string;
  cwd: string;
  /** The roots below which may be written. */
  write: readonly string[];
  home: string;
  /** What `$TMPDIR` will be; one of the writable roots. */
  tmp?: string;
};

/** What a shell command would do, for the user's convenience; the sandbox, not this, decides what can happen. */
export function classifyCommand(_command: string, _place: Place): Claim {
  return { effect: "write", writes: "unknown" };
}
