import type { Backend } from "../../backend.ts";
import { seccompFilter } from "../../filter/seccomp.ts";
import type { Policy } from "../../policy/policy.ts";
import { neededAbi } from "../../program/steps/landlock.ts";
import type { ConnectRules, Endpoint } from "../../supervisor/rules.ts";
import { noLandlock } from "../nolandlock.ts";
import { openTier } from "../open.ts";
import { rightsHere } from "../ownerrights.ts";
import { type Source, supervisorAt, type Tier, type TierOptions, type TierPlan } from "../tier.ts";
import { Unavailable } from "../unavailable.ts";
import { processLimitNotes } from "../processlimit.ts";
import { gaps } from "./notes.ts";
import { type Reach, reachOf, restrictionTo } from "./reach.ts";

/** For machines without namespaces: Landlock, a filter, and a supervisor that connects to nothing but the proxies. */
export async function openLandlockTier(policy: Policy, options: TierOptions): Promise<Backend> {
  requireAbi(options.abi);
  using held = new DisposableStack();
  const rights = held.use(rightsHere(policy));
  const endpoints = policy.network === "none" ? [] : (options.endpoints ?? []);
  const tier: Tier<Reach> = {
    name: "landlock",
    notes: [...gaps, ...processLimitNotes()],
    rights,
    endpoints,
    hasMounts: false,
    ownProcesses: false,
    channel: supervisorAt + 1,
    reportsStatus: false,
    viewer: (each) => () => reachOf(each),
    connectRules: (each) => connectRulesOf(each, endpoints),
    plan: (source) => planFor(source, options),
    open: async () => ({
      start: ({ path }) => ({ argv: [path], descriptors: [] }),
      [Symbol.dispose]: () => {},
    }),
  };
  return await openTier(tier, policy, { options, held });
}

function requireAbi(abi: number): void {
  if (abi >= neededAbi) return;
  if (abi === 0) throw noLandlock();
  throw new Unavailable(
    `Landlock version ${neededAbi} is needed, this kernel has version ${abi}`,
    "use Linux 6.12 or later",
  );
}

/** In the host's own network everything but the proxies belongs to others. */
function connectRulesOf({ write, hide, network }: Policy, endpoints: readonly Endpoint[]): ConnectRules {
  return { sockets: write, except: hide, names: [], tcp: network === "none" ? [] : endpoints, abstract: false };
}

function planFor({ view, network }: Source<Reach>, { arch, abi }: TierOptions): TierPlan {
  return {
    parent: process.pid,
    landlock: restrictionTo(view, abi),
    filter: seccompFilter(arch, {
      network: network === "none" ? "none" : "tcp",
      supervise: true,
      foreignProcesses: true,
      foreignIpc: true,
    }),
  };
}
