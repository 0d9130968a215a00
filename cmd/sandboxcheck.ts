import { accountHome } from "../lib/config/account.ts";
import type { Config } from "../lib/config/config.ts";
import { configDirectory, findDataDirectory } from "../lib/config/paths.ts";
import { wantedOf } from "../lib/engine/allowance.ts";
import { findConfinement, isMissing } from "../lib/engine/confinement.ts";
import type { BackendName } from "../lib/sandbox/backend.ts";
import type { Detected } from "../lib/sandbox/detect.ts";
import { mergeMissed, type Missed } from "../lib/sandbox/missed.ts";
import type { Finding } from "./checks.ts";
import type { Here } from "./here.ts";

/** What `--json` has beside the message. */
export type SandboxDetails = {
  readonly backend: BackendName;
  readonly missed: readonly Missed[];
  /** What this sandbox does not hold. */
  readonly notes: readonly string[];
};

/** The sandbox that a run here would have, seen by running a command in it, and why it would be no stronger. */
export async function checkSandbox(config: Config, places: Here): Promise<Finding> {
  const settings = {
    ...places,
    dataDirectory: findDataDirectory(places),
    configDirectory: configDirectory(places),
    accountHome: accountHome(),
    sandboxed: true,
  };
  await using found = await findConfinement({ settings, allowance: wantedOf(config), reached: nobody });
  const { backend, missed, gaps } = found;
  return {
    status: statusOf(found, config),
    message: [firstLine(found, config), ...mergeMissed(missed).flatMap(linesOf), ...gaps.map(gapLine)].join("\n"),
    backend: backend.name,
    missed,
    notes: gaps,
  };
}

/** Nothing is reached by looking. */
const nobody = { hear: () => {}, hearConnect: () => {}, hearFailure: () => {} };

function statusOf(found: Detected, { mode }: Config): Finding["status"] {
  if (isMissing(found)) return mode === "auto" ? "fail" : "warn";
  return found.missed.length > 0 || found.gaps.length > 0 ? "warn" : "ok";
}

function firstLine(found: Detected, { mode }: Config): string {
  const { name, filesystem, network } = found.backend;
  if (!isMissing(found)) return `${name}: files ${filesystem}, network ${network}`;
  if (mode !== "auto") return `none: mode "${mode}" works, but runs no commands`;
  return 'none: mode "auto" needs --no-sandbox, and then commands have your own rights';
}

function linesOf({ tier, reason, fix }: Missed): string[] {
  return [`not ${tier}: ${reason}`, ...(fix === undefined ? [] : [`  fix: ${fix}`])];
}

function gapLine(gap: string): string {
  return `not held: ${gap}`;
}
