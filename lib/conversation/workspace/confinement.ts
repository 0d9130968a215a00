import { delimiter, isAbsolute, join } from "node:path";
import { accountHomes } from "../../config/account.ts";
import { KodaError } from "../../errors.ts";
import { cachedRealPaths } from "../../files/real.ts";
import { followPath } from "../../files/walk.ts";
import { leadsTo } from "../../git/places.ts";
import { type Backend, unconfined } from "../../sandbox/backend.ts";
import { automountsIn } from "../../sandbox/layout/host.ts";
import { detect, type Detected } from "../../sandbox/detect.ts";
import { describeMissed, mergeMissed } from "../../sandbox/missed.ts";
import { holdsSecrets } from "../../sandbox/policy/defaults.ts";
import { ownersBeside } from "../../sandbox/policy/owner.ts";
import { type Policy, policyOf } from "../../sandbox/policy/policy.ts";
import { copySettings, type SettingsCopies } from "../../sandbox/settings/copies.ts";
import type { Allowance } from "../allowance.ts";
import type { Settings } from "../settings.ts";
import { removeAbandoned } from "./abandoned.ts";
import type { ConnectionLog } from "./connectionlog.ts";
import { Egress, ports } from "./egress.ts";
import { makeTemporary, type Temporary } from "./temporary.ts";

/** The policy of commands and the sandbox that enforces it. Closing it removes the temporary directory. */
export type Confinement = Detected &
  AsyncDisposable & {
    egress: Egress;
    /** Hidden settings files without a copy for commands, because they could not be parsed. */
    unclear: SettingsCopies["unclear"];
  };

export type ConfinementOptions = {
  settings: Pick<Settings, "root" | "home" | "accountHome" | "env" | "dataDirectory" | "configDirectory" | "sandboxed">;
  allowance: Allowance;
  /** Of the user's own skills: readable, also in a hidden place. */
  definitionDirectories?: readonly string[];
  /** Records every attempt of a command to connect. */
  connections: Pick<ConnectionLog, "add" | "ask" | "addRefusedCall" | "addFailure">;
};

/** Mode auto and --verify need a sandbox, unless the user passed --no-sandbox. */
export function assertSandbox(detected: Detected, { mode }: Allowance, { verifies = false } = {}): void {
  if (!isMissing(detected)) return;
  if (verifies) throw sandboxMissing(detected, { what: "Cannot verify the answer", other: "or leave out --verify" });
  if (mode !== "auto") return;
  const what = 'Cannot run in mode "auto"';
  throw sandboxMissing(detected, { what, other: "or use --mode plan, which runs no commands here" });
}

/** True when no sandbox works here and --no-sandbox was not passed, so no command will run. */
export function isMissing({ backend }: Detected): boolean {
  return backend.filesystem === "no commands";
}

/** The strongest sandbox that works here, and why stronger ones do not. */
export async function openConfinement(options: ConfinementOptions): Promise<Confinement> {
  const { settings, allowance, connections } = options;
  await using held = new AsyncDisposableStack();
  const egress = held.use(
    new Egress({
      config: allowance.egress,
      env: settings.env,
      ask: (question) => connections.ask(question),
      onRequest: (request) => connections.add(request),
      onFailure: (error) => connections.addFailure(error),
    }),
  );
  const temporary = held.use(makeTemporary());
  const { policyFor, unclear } = policiesOf(options, temporary);
  const detected = settings.sandboxed
    ? await detect({
        policyFor,
        searchPath: settings.env.PATH,
        onRefusal: ({ what }) => connections.addRefusedCall(what),
        ...waysOut(egress, allowance),
      })
    : { backend: unconfined, policy: policyFor(false), missed: [], gaps: unconfined.notes };
  held.use(detected.backend);
  held.use(removeAbandoned([settings.root, ...allowance.write]));
  const opened = held.move();
  return {
    ...detected,
    backend: withProxies(detected.backend, egress),
    egress,
    unclear,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

type Policies = { policyFor: (privateTmp: boolean) => Policy; unclear: SettingsCopies["unclear"] };

/** The policy with and without a private `/tmp`; its paths are resolved once for both. */
function policiesOf(
  { settings, allowance, definitionDirectories: skills = [] }: ConfinementOptions,
  { path: tmp, settings: directory }: Temporary,
): Policies {
  const resolve = cachedRealPaths();
  const { copies, unclear } = settings.sandboxed
    ? copySettings({ ...settings, directory, resolve })
    : { copies: [], unclear: [] };
  const { places: automounts, mounted } = automountsIn();
  const isOthers = ownersBeside({ write: [settings.root, ...allowance.write] }).length > 0;
  const shared = {
    ...settings,
    ...allowance,
    // ssh reaches its proxy through this very program.
    read: [...allowance.read, process.execPath, ...mounted],
    skills,
    automounts,
    tmp,
    network: allowance.egress.mode,
    gitPlaces: leadsTo(join(settings.root, ".git")),
    keep: [...ownProgram(settings), ...gitConfiguration(settings.env)],
    // Commands that run as root could otherwise read the other homes.
    otherHomes: isOthers && process.getuid?.() === 0 ? accountHomes().filter(holdsSecrets) : [],
    copies,
    resolve,
  };
  return { policyFor: (privateTmp) => policyOf({ ...shared, privateTmp }), unclear };
}

/** The program that runs, and the links by which the user's next command finds it. */
function ownProgram({ root, env }: Pick<Settings, "root" | "env">): string[] {
  const program = process.execPath;
  const directories = [...(env.PATH ?? "").split(delimiter), join(root, "node_modules/.bin")].filter(isAbsolute);
  const links = directories.map((directory) => join(directory, "koda"));
  // Each link on the way to it could lead elsewhere.
  return [
    program,
    ...links.flatMap((link) => {
      const { real, followed } = followPath(link, { follow: true });
      return real === program ? [link, ...followed] : [];
    }),
  ];
}

/** Named by variables; what git finds in a home is protected by default. */
function gitConfiguration({ XDG_CONFIG_HOME, GIT_CONFIG_GLOBAL, GIT_CONFIG_SYSTEM }: Settings["env"]): string[] {
  const inConfiguration = XDG_CONFIG_HOME && join(XDG_CONFIG_HOME, "git");
  return [inConfiguration, GIT_CONFIG_GLOBAL, GIT_CONFIG_SYSTEM].flatMap((path = "") => (isAbsolute(path) ? path : []));
}

/** The ways to the proxies; none without a network. */
function waysOut(egress: Egress, { egress: { mode } }: Allowance) {
  if (mode === "none") return { ports: [] };
  return {
    ports,
    onSockets: (sockets: readonly number[]) => egress.take(sockets),
    openEndpoints: async () => await egress.listenHere(),
  };
}

/** Starts the proxies with the first command. */
function withProxies(backend: Backend, egress: Egress): Backend {
  if (backend.proxies === undefined) return backend;
  return {
    ...backend,
    confine(...command) {
      egress.begin();
      return backend.confine(...command);
    },
  };
}

/** The error for a missing sandbox; `other` is a way out that only some commands have. */
export function sandboxMissing({ missed }: Detected, { what, other }: { what: string; other?: string }): KodaError {
  const reasons = mergeMissed(missed)
    .map((tier) => `\n- ${describeMissed(tier)}`)
    .join("");
  return new KodaError(
    "sandbox",
    `${what}: no sandbox works here, and without one commands would run with your own rights.${reasons}\n` +
      `Fix one of these, ${other === undefined ? "or pass --no-sandbox" : `pass --no-sandbox, ${other}`}.`,
  );
}
