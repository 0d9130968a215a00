import { accountHome } from "../lib/config/account.ts";
import type { Config } from "../lib/config/config.ts";
import { configDirectory, findDataDirectory } from "../lib/config/paths.ts";
import { wantedOf } from "../lib/conversation/allowance.ts";
import { openConfinement, isMissing } from "../lib/conversation/workspace/confinement.ts";
import type { Backend, BackendName } from "../lib/sandbox/backend.ts";
import type { Detected } from "../lib/sandbox/detect.ts";
import { mergeMissed, type Missed } from "../lib/sandbox/missed.ts";
import type { CheckResult } from "./checks.ts";
import type { CurrentProject } from "./project.ts";

/** Additional fields of `--json`. */
export type SandboxDetails = {
  readonly backend: BackendName;
  readonly missed: readonly Missed[];
  /** Guarantees that this sandbox cannot give. */
  readonly notes: readonly string[];
};

/** Tests the sandbox of a run in this project by running a command in it, and says why a stronger one is missing. */
export async function checkSandbox(config: Config, project: CurrentProject): Promise<CheckResult> {
  const settings = {
    ...project,
    dataDirectory: findDataDirectory(project),
    configDirectory: configDirectory(project),
    accountHome: accountHome(),
    sandboxed: true,
  };
  await using found = await openConfinement({ settings, allowance: wantedOf(config), connections: noLog });
  const { backend, missed, gaps } = found;
  return {
    status: statusOf(found, config),
    message: [firstLine(found, config), ...mergeMissed(missed).flatMap(linesOf), ...gaps.map(gapLine)].join("\n"),
    backend: backend.name,
    missed,
    notes: gaps,
  };
}

/** The test connects to nothing. */
const noLog = {
  add: () => {},
  ask: async () => ({ allow: false as const }),
  addRefusedCall: () => {},
  addFailure: () => {},
};

function statusOf(found: Detected, { mode }: Config): CheckResult["status"] {
  if (isMissing(found)) return mode === "auto" ? "fail" : "warn";
  return found.missed.length > 0 || found.gaps.length > 0 ? "warn" : "ok";
}

function firstLine(found: Detected, { mode }: Config): string {
  const { name, filesystem, network } = found.backend;
  if (!isMissing(found)) return `${name}: ${filesWords[filesystem]}, ${networkWords[network]}`;
  if (mode !== "auto") return `none: mode "${mode}" works, but cannot run commands`;
  return "none: a run needs --no-sandbox, which gives commands your own permissions, or --mode plan, which runs none";
}

const filesWords = {
  confined: "files confined",
  open: "files open",
  "no commands": "no commands",
} as const satisfies Record<Backend["filesystem"], string>;

const networkWords = {
  proxies: "network through koda's proxies",
  none: "no network",
  open: "network open",
  "no commands": "no network",
} as const satisfies Record<Backend["network"], string>;

function linesOf({ tier, reason, fix }: Missed): string[] {
  return [`${tier} is not available: ${reason}`, ...(fix === undefined ? [] : [`  fix: ${fix}`])];
}

function gapLine(gap: string): string {
  return `not guaranteed: ${gap}`;
}
