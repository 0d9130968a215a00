import { certificateVariables, proxyNames, proxyVariables } from "../egress/env.ts";
import type { Backend, Proxies } from "../sandbox/backend.ts";
import type { Policy } from "../sandbox/policy/policy.ts";
import { hostTmp } from "../sandbox/policy/reach.ts";
import { copyVariables, describeCopies } from "../sandbox/settings/notice.ts";
import { inMemory } from "../session/database.ts";
import { createTasks, type Tasks } from "../shell/background.ts";
import { childEnv } from "../shell/env.ts";
import { createShell, type Shell } from "../shell/spawn.ts";
import { type Confinement, openConfinement } from "./confinement.ts";
import type { Egress } from "./egress.ts";
import type { Notice } from "./engine.ts";
import type { Event } from "./event.ts";
import { Reached } from "./reached.ts";
import { careForRepositories, type Repositories, whyGitStaysClosed } from "./repositories.ts";
import type { Allowance } from "./resume.ts";
import type { Settings } from "./settings.ts";

/** Where a run's calls happen: what they may touch, and what starts commands for them. */
export type Surroundings = {
  policy: Policy;
  backend: Backend;
  egress: Egress;
  shell: Shell;
  tasks: Tasks;
  repositories: Repositories;
  reached: Reached;
  /** What was found when everything had been stopped: there once it is closed. */
  lastNotices: readonly Notice[];
};

type SurroundingsOptions = {
  settings: Settings;
  allowance: Allowance;
  /** Variables that may hold a provider's key. */
  keyVariables: readonly string[];
  tell: (event: Event) => void;
};

/** Makes the surroundings; closing `held` stops every command and removes the run's own directory. */
export async function openSurroundings(
  { settings, allowance, keyVariables, tell }: SurroundingsOptions,
  held: AsyncDisposableStack,
): Promise<Surroundings> {
  const keeps = settings.database === inMemory ? undefined : settings.dataDirectory;
  const reached = new Reached(keeps, tell);
  const confinement = held.use(await openConfinement({ settings, allowance, reached }));
  return { ...surround(confinement, { settings, keyVariables, tell, held }), reached };
}

type SurroundOptions = Pick<SurroundingsOptions, "keyVariables" | "tell"> & {
  settings: Pick<Settings, "env" | "loaded" | "dataDirectory">;
  held: AsyncDisposableStack;
};

/** The same in a confinement that is there already. */
export function surround(confinement: Confinement, options: SurroundOptions): Omit<Surroundings, "reached"> {
  const { policy, backend, egress } = confinement;
  const { settings, held } = options;
  const maxSeconds = settings.loaded.config.limits.maxCommandTimeMs / 1000;
  const shell = createShell({ backend, policy, env: variablesFor(confinement, options), maxSeconds });
  const tasks = createTasks(shell);
  const repositories = careForRepositories({ policy, backend, dataDirectory: settings.dataDirectory });
  const closed = backend.filesystem === "confined" ? whyGitStaysClosed(policy) : undefined;
  if (closed !== undefined) options.tell({ type: "notice", level: "warn", code: "git", message: closed });
  const copied = backend.filesystem === "confined" ? describeCopies({ ...confinement, ...backend }) : undefined;
  if (copied !== undefined) options.tell({ type: "notice", level: "info", code: "settings", message: copied });
  const lastNotices: Notice[] = [];
  held.defer(async () => void lastNotices.push(...(await repositories.last())));
  // Last in, first out: tasks put away what they printed, then the shell takes down whatever is left.
  held.defer(() => shell.stopAll());
  held.defer(() => tasks.stopAll());
  return { policy, backend, egress, shell, tasks, repositories, lastNotices };
}

/** What commands find in their environment. */
function variablesFor(
  { policy, backend }: Confinement,
  { settings: { env, loaded }, keyVariables, tell }: SurroundOptions,
): Record<string, string> {
  const tmp = policy.privateTmp ? hostTmp : policy.tmp;
  const { passEnv } = loaded.config.sandbox;
  const { env: variables, notes } = childEnv(env, { pass: passEnv, tmp, providerKeys: keyVariables });
  for (const message of notes) tell({ type: "notice", level: "warn", code: "environment", message });

  // The user's own proxies are out of a confined command's reach, and their passwords none of its business.
  if (backend.filesystem === "confined") for (const name of proxyNames) delete variables[name];
  // Where the user has an authority of their own, programs are told of it that know it by another name.
  const { SSL_CERT_FILE: authority } = variables;
  if (authority !== undefined) Object.assign(variables, { ...certificateVariables(authority), ...variables });
  // Last, so that nothing of the user's leads around them.
  if (backend.proxies !== undefined) Object.assign(variables, waysTo(backend.proxies));
  if (backend.filesystem === "confined" && !backend.placesCopies)
    Object.assign(variables, copyVariables(policy, variables));
  // Where .git is watched and not held, git should not write to it just because somebody asked for its status.
  if (backend.guards) variables.GIT_OPTIONAL_LOCKS = "0";
  return variables;
}

function waysTo({ http, socks }: Proxies): Record<string, string> {
  const at = ({ address, port }: Proxies["http"]) => ({ host: address, port });
  return proxyVariables({ http: at(http), socks: at(socks), executable: process.execPath });
}
