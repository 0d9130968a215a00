import { type EgressConfig, type Mode, networks } from "../config/config.ts";
import type { EnvironmentFacts } from "../session/item.ts";
import { lowerMode } from "../trust/mode.ts";
import type { Notice } from "../engine/turn.ts";

/** What a run may do, as far as a session records it. All paths are real. */
export type Allowance = {
  mode: Mode;
  /** Writable roots beside the project. */
  write: readonly string[];
  /** What may be read though it is hidden by default. */
  read: readonly string[];
  /** What is hidden beside that. */
  hide: readonly string[];
  allowGit: boolean;
  egress: EgressConfig;
};

/** What this very command line says, and not some file or variable that was there before. */
export type Explicit = {
  mode: boolean;
  write: readonly string[];
  read: readonly string[];
  allowGit: boolean;
  net: boolean;
  allowNet: readonly string[];
};

/**
 * A resumed session stays within what it was allowed when it was recorded. Only a flag on this command line widens it:
 * a configuration that changed in the meantime does not.
 */
export function keepToRecord(
  environment: EnvironmentFacts | undefined,
  wanted: Allowance,
  explicit: Explicit,
): { allowance: Allowance; notices: Notice[] } {
  if (environment === undefined) return { allowance: wanted, notices: [] };

  const recorded = recordOf(environment);
  const mode = explicit.mode ? wanted.mode : lowerMode(wanted.mode, recorded.mode);
  const write = within(wanted.write, [...recorded.write, ...explicit.write]);
  const read = within(wanted.read, [...recorded.read, ...explicit.read]);
  const forgotten = recorded.hide.filter((path) => !wanted.hide.includes(path) && !explicit.read.includes(path));
  const allowGit = wanted.allowGit && (recorded.allowGit || explicit.allowGit);

  const { egress, kept: keptEgress } = keepEgress(recorded.egress, wanted.egress, explicit);

  const kept = [
    mode !== wanted.mode && `Still in mode "${mode}", as this session began; pass --mode to change it`,
    ...write.refused.map((path) => `"${path}" was not writable in this session: pass --allow-write to make it so`),
    ...read.refused.map((path) => `"${path}" was not opened in this session: pass --allow-read to open it`),
    ...forgotten.map((path) => `"${path}" was hidden in this session and stays so: pass --allow-read to open it`),
    allowGit !== wanted.allowGit && "commands could not commit in this session: pass --allow-git to let them",
    ...keptEgress,
  ];
  return {
    allowance: {
      mode,
      write: write.allowed,
      read: read.allowed,
      hide: [...wanted.hide, ...forgotten],
      allowGit,
      egress,
    },
    notices: kept.filter((message) => message !== false).map(notice),
  };
}

/** A session of an earlier koda was never granted what that did not know of. */
function recordOf({ mode, writable, granted }: EnvironmentFacts): Allowance {
  return { mode, egress: plainEgress, ...(granted ?? { write: writable, read: [], hide: [], allowGit: false }) };
}

const plainEgress: EgressConfig = { mode: "allowlist", allow: [], deny: [] };

/** The same for what commands may reach. */
function keepEgress(
  recorded: EgressConfig,
  wanted: EgressConfig,
  { net, allowNet }: Explicit,
): { egress: EgressConfig; kept: readonly (string | false)[] } {
  const isWider = networks.indexOf(wanted.mode) > networks.indexOf(recorded.mode);
  const mode = isWider && !net ? recorded.mode : wanted.mode;
  const allow = within(wanted.allow, [...recorded.allow, ...allowNet]);
  const forgotten = recorded.deny.filter((host) => !wanted.deny.includes(host) && !allowNet.includes(host));
  const kept = [
    mode !== wanted.mode && `the network of this session was "${mode}" and stays so: pass --net to change it`,
    ...allow.refused.map((host) => `"${host}" could not be reached in this session: pass --allow-net to allow it`),
    ...forgotten.map((host) => `"${host}" was denied in this session and stays so: pass --allow-net to allow it`),
  ];
  return { egress: { mode, allow: allow.allowed, deny: [...wanted.deny, ...forgotten] }, kept };
}

function within(wanted: readonly string[], known: readonly string[]): Record<"allowed" | "refused", readonly string[]> {
  const isKnown = (path: string) => known.includes(path);
  return { allowed: wanted.filter(isKnown), refused: wanted.filter((path) => !isKnown(path)) };
}

/** Another model goes on with what this one said: worth a word, since answers and costs may differ. */
export function modelChange(
  recorded: EnvironmentFacts | undefined,
  now: { model: string; provider: string },
): Notice[] {
  if (recorded === undefined) return [];
  if (recorded.model === now.model && recorded.provider === now.provider) return [];
  const before = `${recorded.provider}/${recorded.model}`;
  return [
    {
      type: "notice",
      level: "warn",
      code: "model_changed",
      message: `This session used ${before}; continuing with ${now.provider}/${now.model}`,
    },
  ];
}

/** Commands run where koda was started; a session of another project moves with it. */
export function directoryChange(recorded: EnvironmentFacts | undefined, root: string): Notice[] {
  if (recorded === undefined || recorded.cwd === root) return [];
  const message = `This session worked in "${recorded.cwd}"; continuing in "${root}" (--cd ${recorded.cwd} goes back)`;
  return [{ type: "notice", level: "warn", code: "directory_changed", message }];
}

function notice(message: string): Notice {
  return { type: "notice", level: "warn", code: "kept_narrow", message };
}
