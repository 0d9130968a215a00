import { KeyedLocks } from "../async/keyedlocks.ts";
import { callerAddress } from "../egress/caller.ts";
import { certificateVariables, proxyNames, proxyVariables } from "../egress/env.ts";
import type { Event } from "../engine/event.ts";
import type { Backend, Proxies } from "../sandbox/backend.ts";
import type { Policy } from "../sandbox/policy/policy.ts";
import { hostTmp, sharedMemory } from "../sandbox/policy/reach.ts";
import { copyVariables, describeCopies } from "../sandbox/settings/notice.ts";
import { inMemory } from "../session/database.ts";
import { Tasks } from "../shell/background.ts";
import { childEnv } from "../shell/env.ts";
import type { Reaper } from "../shell/reaper.ts";
import { Shell } from "../shell/shell.ts";
import type { Allowance } from "./allowance.ts";
import type { Settings } from "./settings.ts";
import { type Confinement, type ConfinementOptions, openConfinement } from "./workspace/confinement.ts";
import { type AskAboutHost, ConnectionLog } from "./workspace/connectionlog.ts";
import { guardRepositories, type Repositories, whyGitStaysClosed } from "./workspace/repositories.ts";

type WorkspaceOptions = {
  settings: Pick<Settings, "env" | "loaded" | "dataDirectory">;
  connections: ConnectionLog;
  /** Variables that may hold the key of a provider or of an MCP server. */
  keyVariables: readonly string[];
  post: (event: Event) => void;
  reaper: Reaper | undefined;
  /** Aborted when everything is to stop. */
  stop: AbortSignal;
};

type OpenOptions = Omit<WorkspaceOptions, "settings" | "connections"> & {
  settings: ConfinementOptions["settings"] & Pick<Settings, "loaded" | "database">;
  allowance: Allowance;
  definitionDirectories?: ConfinementOptions["definitionDirectories"];
  /** Called before anything can run; it throws when this confinement will not do. */
  accept: (confinement: Confinement) => void | Promise<void>;
};

/** The workspace in the strongest sandbox that works here. */
export async function openWorkspace(open: OpenOptions): Promise<Workspace> {
  const { settings, allowance, accept, definitionDirectories = [], ...options } = open;
  const keeps = settings.database === inMemory ? undefined : settings.dataDirectory;
  const connections = new ConnectionLog(keeps, options.post);
  await using held = new AsyncDisposableStack();
  const confinement = held.use(await openConfinement({ settings, allowance, definitionDirectories, connections }));
  await accept(confinement);
  const workspace = new Workspace(confinement, { settings, connections, ...options });
  held.move();
  return workspace;
}

/** By then the first request has been sent, and nothing else has to be done until its reply comes. */
const patienceMs = 20;

/** The shell of one owner, its background tasks, and the log of what its calls connect to. */
export type Hands = { shell: Shell; tasks: Tasks; connections: ConnectionLog };

/**
 * The place where calls run: the policy, the sandbox, the network and the shells. It is opened once and shared by a
 * conversation and everything that it starts. Closing it stops every command and posts the last findings.
 */
export class Workspace implements AsyncDisposable {
  readonly policy: Policy;
  readonly backend: Backend;
  readonly egress: Confinement["egress"];
  readonly connections: Pick<ConnectionLog, "add">;
  readonly repositories: Repositories;
  /** The files that calls are writing. */
  readonly locks: KeyedLocks = new KeyedLocks();
  readonly #confinement: Confinement;
  readonly #variables: Readonly<Record<string, string>>;
  readonly #options: WorkspaceOptions;
  readonly #hands = new Set<Hands>();
  #generation = 0;
  #writers: Promise<void> | undefined;
  readonly #soon = setTimeout(() => void this.#prepare().catch(() => undefined), patienceMs);

  /** Takes ownership of the confinement. */
  constructor(confinement: Confinement, options: WorkspaceOptions) {
    const { policy, backend, egress } = confinement;
    const { settings, connections, post } = options;
    this.#confinement = confinement;
    this.#options = options;
    this.policy = policy;
    this.backend = backend;
    this.egress = egress;
    this.connections = connections;
    this.#variables = variablesFor(confinement, options);
    this.repositories = this.#counted(
      guardRepositories({
        policy,
        backend,
        dataDirectory: settings.dataDirectory,
        env: settings.env,
        stop: options.stop,
        isBusy: () => this.#hasTasks(),
      }),
    );
    if (backend.filesystem !== "confined") return;
    const closed = whyGitStaysClosed(policy);
    if (closed !== undefined) post({ type: "notice", level: "warn", code: "git", message: closed });
    const copied = describeCopies({ ...confinement, ...backend });
    if (copied !== undefined) post({ type: "notice", level: "info", code: "settings", message: copied });
  }

  /**
   * Another one after each call that may write, of whichever conversation; undefined while a command runs in the
   * background, which may write at any moment.
   */
  get generation(): number | undefined {
    return this.#hasTasks() ? undefined : this.#generation;
  }

  #hasTasks(): boolean {
    return [...this.#hands].some(({ tasks }) => tasks.list().some(({ state }) => state.status === "running"));
  }

  #counted(repositories: Repositories): Repositories {
    const { before, after } = repositories;
    const count = () => void this.#generation++;
    return {
      ...repositories,
      before: async (signal) => (count(), await before(signal)),
      after: async () => (count(), await after()),
    };
  }

  /** Makes what the first command needs. What fails here fails again when it is needed, and is told then. */
  async #prepare(): Promise<void> {
    const isEarly = () => [...this.#hands].every(({ shell }) => !shell.isUsed);
    if (!isEarly()) return;
    await this.repositories.begin();
    this.backend.prepare?.();
    await import("../trust/command.ts");
    if (isEarly()) collectStart();
  }

  /** True when commands see none of these variables. */
  hides(names: readonly string[]): boolean {
    return names.every((name) => this.#options.keyVariables.includes(name));
  }

  /** Called at the end, when nothing can write any more and the temporary directory is still there. */
  atRest: () => Promise<void> = async () => undefined;

  /**
   * A shell for one owner. Each of its commands may have a narrower policy than the workspace's. Without `ask` the
   * user is not asked about the hosts that they want to reach.
   */
  open(post: (event: Event) => void = this.#options.post, ask?: AskAboutHost): Hands {
    const { settings, reaper } = this.#options;
    const { backend, policy } = this;
    const maxSeconds = settings.loaded.config.limits.maxCommandTimeMs / 1000;
    const shell = new Shell({ backend, policy, env: this.#variables, maxSeconds, reaper });
    const hands = { shell, tasks: new Tasks(shell), connections: this.#options.connections.beside(post, ask) };
    this.#hands.add(hands);
    return hands;
  }

  /** Stops everything that an owner has started. */
  async close(hands: Hands): Promise<void> {
    try {
      await hands.tasks.stopAll();
    } finally {
      await hands.shell.stopAll();
      this.#hands.delete(hands);
    }
  }

  /**
   * Guards the project for as long as a program runs that may write at any time, such as an MCP server. Called before
   * it starts; the guard ends when the workspace is closed.
   */
  guardWriter(signal: AbortSignal): Promise<void> {
    const begin = async () => {
      try {
        await this.repositories.before(signal);
      } catch (error) {
        this.#writers = undefined;
        throw error;
      }
    };
    return (this.#writers ??= begin());
  }

  /** Variables that lead the commands of a call to the proxies, at an address that identifies the call. */
  proxyVariables(call: string, { connections }: Hands): Readonly<Record<string, string>> {
    const { proxies } = this.backend;
    return proxies === undefined ? {} : variablesOf(proxies, callerAddress(connections.callerOf(call)));
  }

  /** For a command that cannot write to the run's directory: what it puts in its own memory nobody else finds. */
  get ownTemporary(): Readonly<Record<string, string>> {
    return this.backend.placesCopies ? { TMPDIR: sharedMemory } : {};
  }

  /** Kills every command without waiting, for a process that is about to exit. */
  killNow(): void {
    for (const { shell } of this.#hands) shell.killNow();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#soon);
    await using closing = new AsyncDisposableStack();
    // Last in, first out: tasks save their output, shells stop what is left, and then nothing can write any more.
    closing.use(this.#confinement);
    closing.defer(() => this.atRest());
    closing.defer(async () => {
      const { repositories } = this;
      await this.#writers;
      const found = this.#writers === undefined ? [] : await repositories.after();
      for (const notice of [...found, ...(await repositories.last())]) this.#options.post(notice);
    });
    for (const { shell } of this.#hands) closing.defer(() => shell.stopAll());
    for (const { tasks } of this.#hands) closing.defer(() => tasks.stopAll());
  }
}

let isCollected = false;

/** Collects the garbage of the process's start, which would otherwise be done while the first command runs. */
function collectStart(): void {
  if (!isCollected) Bun.gc(true);
  isCollected = true;
}

/** The environment of commands. */
function variablesFor(
  { policy, backend }: Confinement,
  { settings: { env, loaded }, keyVariables, post }: WorkspaceOptions,
): Record<string, string> {
  const tmp = policy.privateTmp ? hostTmp : policy.tmp;
  const { passEnv } = loaded.config.sandbox;
  const { env: variables, notes } = childEnv(env, { pass: passEnv, tmp, keys: keyVariables });
  for (const message of notes) post({ type: "notice", level: "warn", code: "environment", message });

  // A confined command cannot reach the user's own proxies, and must not see their passwords.
  if (backend.filesystem === "confined") for (const name of proxyNames) delete variables[name];
  // A certificate authority of the user's own is passed under every name that programs look for.
  const { SSL_CERT_FILE: authority } = variables;
  if (authority !== undefined) Object.assign(variables, { ...certificateVariables(authority), ...variables });
  // Last, so that no variable of the user's bypasses the proxies.
  if (backend.proxies !== undefined)
    Object.assign(variables, variablesOf(backend.proxies, backend.proxies.http.address));
  if (backend.filesystem === "confined" && !backend.placesCopies)
    Object.assign(variables, copyVariables(policy, variables));
  // In a tier that restores .git rather than mounting it read-only, `git status` should not write to it.
  if (backend.guards) variables.GIT_OPTIONAL_LOCKS = "0";
  return variables;
}

function variablesOf({ http, socks }: Proxies, host: string): Record<string, string> {
  const at = ({ port }: Proxies["http"]) => ({ host, port });
  return proxyVariables({ http: at(http), socks: at(socks), executable: process.execPath });
}
