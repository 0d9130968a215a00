import { type EgressConfig, networks } from "../config/config.ts";
import type { Notice } from "../engine/event.ts";
import type { EnvironmentFacts } from "../session/item.ts";
import { lowerMode } from "../trust/mode.ts";
import type { Allowance } from "./allowance.ts";

/** Permissions that this command line itself grants, as opposed to files and variables. */
export type Explicit = {
  mode: boolean;
  write: readonly string[];
  read: readonly string[];
  allowGit: boolean;
  allowConfig: boolean;
  net: boolean;
  allowNet: readonly string[];
};

/**
 * A resumed session keeps within the permissions that it was recorded with. Only a flag on this command line widens
 * them, not a configuration that has changed since.
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
  const allowConfig = wanted.allowConfig && (recorded.allowConfig || explicit.allowConfig);

  const { egress, kept: keptEgress } = keepEgress(recorded.egress, wanted.egress, explicit);

  const kept = [
    mode !== wanted.mode && `This session started in mode "${mode}" and stays in it: pass --mode to change it`,
    ...write.refused.map((path) => `"${path}" was not writable in this session: pass --allow-write to allow it`),
    ...read.refused.map((path) => `"${path}" was not readable in this session: pass --allow-read to allow it`),
    ...forgotten.map((path) => `"${path}" was hidden in this session and stays hidden: pass --allow-read to allow it`),
    allowGit !== wanted.allowGit && "Commands could not commit in this session: pass --allow-git to allow it",
    allowConfig !== wanted.allowConfig &&
      "Files that other tools run were protected in this session: pass --allow-config to allow changes",
    ...keptEgress,
  ];
  return {
    allowance: {
      mode,
      write: write.allowed,
      read: read.allowed,
      hide: [...wanted.hide, ...forgotten],
      allowGit,
      allowConfig,
      egress,
    },
    notices: kept.filter((message) => message !== false).map(notice),
  };
}

/** Sessions of earlier versions have no record of later permissions. */
function recordOf({ mode, writable, granted }: EnvironmentFacts): Allowance {
  const rights = granted ?? { write: writable, read: [], hide: [], allowGit: false };
  return { mode, egress: plainEgress, allowConfig: false, ...rights };
}

const plainEgress: EgressConfig = { mode: "allowlist", allow: [], deny: [] };

/** The same for the network. */
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
    mode !== wanted.mode && `The network of this session was "${mode}" and stays so: pass --net to change it`,
    ...allow.refused.map((host) => `"${host}" was not allowed in this session: pass --allow-net to allow it`),
    ...forgotten.map((host) => `"${host}" was denied in this session and stays denied: pass --allow-net to allow it`),
  ];
  return { egress: { mode, allow: allow.allowed, deny: [...wanted.deny, ...forgotten] }, kept };
}

function within(wanted: readonly string[], known: readonly string[]): Record<"allowed" | "refused", readonly string[]> {
  const isKnown = (path: string) => known.includes(path);
  return { allowed: wanted.filter(isKnown), refused: wanted.filter((path) => !isKnown(path)) };
}

/** Another model continues the session: answers and costs may differ. */
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

/** Commands run where koda was started, even if the session began in another project. */
export function directoryChange(recorded: EnvironmentFacts | undefined, root: string): Notice[] {
  if (recorded === undefined || recorded.cwd === root) return [];
  const message = `This session worked in "${recorded.cwd}"; continuing in "${root}" (--cd ${recorded.cwd} goes back)`;
  return [{ type: "notice", level: "warn", code: "directory_changed", message }];
}

function notice(message: string): Notice {
  return { type: "notice", level: "warn", code: "kept_narrow", message };
}
