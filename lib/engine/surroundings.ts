import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KodaError, reasonOf } from "../errors.ts";
import { type Backend, noCommands, sandboxNeeded, unconfined } from "../sandbox/backend.ts";
import { type Policy, policyOf } from "../sandbox/policy.ts";
import { createTasks, type Tasks } from "../shell/background.ts";
import { childEnv } from "../shell/env.ts";
import { createShell, type Shell } from "../shell/spawn.ts";
import { realPaths } from "../trust/real.ts";
import type { Allowance } from "./resume.ts";
import type { Notice } from "./engine.ts";
import type { Settings } from "./settings.ts";

/** Where a run's calls happen: what they may touch, and what starts commands for them. */
export type Surroundings = { policy: Policy; backend: Backend; shell: Shell; tasks: Tasks };

type Wishes = {
  settings: Settings;
  allowance: Allowance;
  /** Variables that may hold a provider's key. */
  keyVariables: readonly string[];
  tell: (notice: Notice) => void;
};

/** Makes the surroundings; closing `held` stops every command and removes the run's own directory. */
export function openSurroundings(
  { settings, allowance, keyVariables, tell }: Wishes,
  held: AsyncDisposableStack,
): Surroundings {
  const backend = backendFor(settings, allowance);
  const { env, loaded } = settings;
  const tmp = makeTemporary();
  held.defer(() => rmSync(tmp, { recursive: true, force: true }));
  const policy = policyOf({
    ...settings,
    ...allowance,
    tmp,
    privateTmp: false,
    network: "allowlist",
    resolve: realPaths,
  });

  const { limits, sandbox } = loaded.config;
  const rules = { pass: sandbox.passEnv, tmp, providerKeys: keyVariables };
  const { env: variables, notes } = childEnv(env, rules);
  for (const message of notes) tell({ type: "notice", level: "warn", code: "environment", message });

  const shell = createShell({ backend, policy, env: variables, maxSeconds: limits.maxCommandTimeMs / 1000 });
  const tasks = createTasks(shell);
  // Last in, first out: tasks put away what they printed, then the shell takes down whatever is left.
  held.defer(() => shell.stopAll());
  held.defer(() => tasks.stopAll());
  return { policy, backend, shell, tasks };
}

function makeTemporary(): string {
  try {
    return realpathSync(mkdtempSync(join(tmpdir(), "koda-")));
  } catch (error) {
    const message = `Cannot make a directory for temporary files in "${tmpdir()}": ${reasonOf(error)}. Set TMPDIR to a directory that can be written to.`;
    throw new KodaError("config", message, { cause: error });
  }
}

/** Without a sandbox nothing runs by itself, unless the user accepts that. */
function backendFor({ sandboxed }: Settings, { mode }: Allowance): Backend {
  if (!sandboxed) return unconfined;
  if (mode === "auto") throw sandboxNeeded(mode);
  return noCommands;
}
