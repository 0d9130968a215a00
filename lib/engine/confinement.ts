import { accountHomes } from "../config/account.ts";
import { KodaError } from "../errors.ts";
import { type Backend, unconfined } from "../sandbox/backend.ts";
import { detect, type Detected } from "../sandbox/detect.ts";
import { describeMissed, mergeMissed } from "../sandbox/missed.ts";
import { holdsSecrets } from "../sandbox/policy/defaults.ts";
import { ownersBeside } from "../sandbox/policy/owner.ts";
import { type Policy, policyOf } from "../sandbox/policy/policy.ts";
import { copySettings, type SettingsCopies } from "../sandbox/settings/copies.ts";
import { gitPlaces } from "../trust/gitplaces.ts";
import { lookingOnce } from "../trust/real.ts";
import { removeAbandoned } from "./abandoned.ts";
import { Egress, ports } from "./egress.ts";
import type { Reached } from "./reached.ts";
import type { Allowance } from "./resume.ts";
import type { Settings } from "./settings.ts";
import { makeTemporary, type Temporary } from "./temporary.ts";

/** What commands may touch and reach, and what holds them to it; closing it removes the directory for temporary files. */
export type Confinement = Detected &
  AsyncDisposable & {
    egress: Egress;
    /** Hidden settings of which commands get no copy: what they say could not be told. */
    unclear: SettingsCopies["unclear"];
  };

export type ConfinementOptions = {
  settings: Pick<Settings, "root" | "home" | "accountHome" | "env" | "dataDirectory" | "configDirectory" | "sandboxed">;
  allowance: Allowance;
  /** Hears of everything that commands wanted to reach. */
  reached: Pick<Reached, "hear" | "hearConnect" | "hearFailure">;
};

/** The strongest sandbox that works here. Without one nothing runs by itself, unless the user accepts that. */
export async function openConfinement(options: ConfinementOptions): Promise<Confinement> {
  const confinement = await findConfinement(options);
  if (!isMissing(confinement) || options.allowance.mode !== "auto") return confinement;
  await confinement[Symbol.asyncDispose]();
  const what = 'Cannot run in mode "auto"';
  throw sandboxMissing(confinement, { what, other: "or use --mode plan, which runs no commands here" });
}

/** No sandbox works here, and the user has not accepted that: no command will run. */
export function isMissing({ backend }: Detected): boolean {
  return backend.filesystem === "no commands";
}

/** The same, for whoever only wants to know: what there is, and why it is no more. */
export async function findConfinement(options: ConfinementOptions): Promise<Confinement> {
  const { settings, allowance, reached } = options;
  await using held = new AsyncDisposableStack();
  const egress = held.use(
    new Egress({
      config: allowance.egress,
      env: settings.env,
      onRequest: (request) => reached.hear(request),
      onFailure: (error) => reached.hearFailure(error),
    }),
  );
  const temporary = held.use(makeTemporary());
  const { policyFor, unclear } = policiesOf(options, temporary);
  const detected = settings.sandboxed
    ? await detect({
        policyFor,
        searchPath: settings.env.PATH,
        onRefusal: ({ what }) => reached.hearConnect(what),
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

/** The policy, by whether commands find the run's own directory as `/tmp`; its paths are looked at once for both. */
function policiesOf(
  { settings, allowance }: ConfinementOptions,
  { path: tmp, settings: directory }: Temporary,
): Policies {
  const resolve = lookingOnce();
  const { copies, unclear } = settings.sandboxed
    ? copySettings({ ...settings, directory, resolve })
    : { copies: [], unclear: [] };
  const isOthers = ownersBeside({ write: [settings.root, ...allowance.write] }).length > 0;
  const shared = {
    ...settings,
    ...allowance,
    // ssh is taken through the proxy by this very program, wherever it lies.
    read: [...allowance.read, process.execPath],
    tmp,
    network: allowance.egress.mode,
    gitPlaces: gitPlaces(settings.root),
    // As user 0 commands can then read in other homes too.
    otherHomes: isOthers && process.getuid?.() === 0 ? accountHomes().filter(holdsSecrets) : [],
    copies,
    resolve,
  };
  return { policyFor: (privateTmp) => policyOf({ ...shared, privateTmp }), unclear };
}

/** Without a network there is nobody to listen. */
function waysOut(egress: Egress, { egress: { mode } }: Allowance) {
  if (mode === "none") return { ports: [] };
  return {
    ports,
    onSockets: (sockets: readonly number[]) => egress.take(sockets),
    openEndpoints: async () => await egress.listenHere(),
  };
}

/** The first command brings the proxies up. */
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

/** Why nothing is run, and what can be done about it; `other` is a choice that only some commands have. */
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
