import type { Backend } from "../../backend.ts";
import { seccompFilter } from "../../filter/seccomp.ts";
import type { Policy } from "../../policy/policy.ts";
import { neededAbi } from "../../program/steps/landlock.ts";
import type { ConnectRules, Endpoint } from "../../supervisor/rules.ts";
import { noLandlock } from "../nolandlock.ts";
import { openTier } from "../open.ts";
import { rightsHere } from "../ownerrights.ts";
import type { Source, TierOptions, TierPlan } from "../tier.ts";
import { Unavailable } from "../unavailable.ts";
import { unlimitedForRoot } from "../unlimited.ts";
import { gaps } from "./notes.ts";
import { type Reach, reachOf, restrictionTo } from "./reach.ts";

/** The number of its descriptor, after the supervisor's socket. */
const channel = 4;

/** Where no namespaces can be had: Landlock, a filter, and a supervisor that connects to nothing but the proxies, and lets nobody in. */
export async function openLandlockTier(policy: Policy, options: TierOptions): Promise<Backend> {
  mustSuffice(options.abi);
  using held = new DisposableStack();
  const rights = held.use(rightsHere(policy));
  const endpoints = policy.network === "none" ? [] : (options.endpoints ?? []);
  return await openTier({
    tier: {
      name: "landlock",
      notes: [...gaps, ...unlimitedForRoot()],
      rights,
      endpoints,
      hasMounts: false,
      ownProcesses: false,
      // Whoever guards has been told as well.
      protect: () => {},
      open: async () => undefined,
      viewer: (each) => () => reachOf(each),
      connectRules: (each) => connectRulesOf(each, endpoints),
      channelFor: (manner) => (manner === "attached" ? "complaints" : undefined),
      channelAt: () => channel,
      plan: (source) => planFor(source, options),
      launch: ({ program }) => ({ argv: [program.path], descriptors: [] }),
    },
    policy,
    options,
    held,
  });
}

function mustSuffice(abi: number): void {
  if (abi >= neededAbi) return;
  if (abi === 0) throw noLandlock();
  throw new Unavailable(
    `Landlock version ${neededAbi} is needed, this kernel has version ${abi}`,
    "use Linux 6.12 or later",
  );
}

/** Exactly these: in the host's own network everything else is somebody else's. */
function connectRulesOf({ write, hide, network }: Policy, endpoints: readonly Endpoint[]): ConnectRules {
  return { sockets: write, except: hide, names: [], tcp: network === "none" ? [] : endpoints, abstract: false };
}

function planFor({ view, network }: Source<Reach>, { arch, abi }: TierOptions): TierPlan {
  return {
    parent: process.pid,
    landlock: restrictionTo(view, abi),
    filter: seccompFilter(arch, {
      network: network === "none" ? "none" : "tcp",
      unixSockets: true,
      superviseConnect: true,
      superviseListen: true,
      foreignProcesses: true,
      foreignIpc: true,
    }),
  };
}
