import type { Backend } from "../../backend.ts";
import { seccompFilter } from "../../filter/seccomp.ts";
import { isOlderThan } from "../../kernel.ts";
import type { Layout } from "../../layout/layout.ts";
import type { Policy } from "../../policy/policy.ts";
import { neededAbi } from "../../program/steps/landlock.ts";
import { accessIn } from "../access.ts";
import { requireLandlockAsRoot } from "../nolandlock.ts";
import { openTier } from "../open.ts";
import { ownEndpoints, ownNetworkFilter, ownNetworkRules } from "../ownnetwork.ts";
import { type OwnerRights, rightsInNamespace } from "../ownerrights.ts";
import type { TierSession, Source, Tier, TierOptions, TierPlan } from "../tier.ts";
import { Unavailable } from "../unavailable.ts";
import { processLimitNotes } from "../processlimit.ts";
import { viewsIn } from "../views.ts";
import { openNamespaces } from "./session.ts";

/** The numbers of the descriptors that each command's program is given after the supervisor's socket. */
const [user, network, channel] = [4, 5, 6] as const;

/** Before it the number of processes is limited for the whole machine, which is not ours to change. */
const firstWithPidLimits = [6, 14] as const;

export type Shape = {
  /** False where no new /proc can be mounted: then there is no process namespace either. */
  processes: boolean;
};

/** The strongest tier: namespaces that koda makes by itself, Landlock and a filter inside of them. */
export async function openNamespacesTier(policy: Policy, options: TierOptions, { processes }: Shape): Promise<Backend> {
  const { abi, ports } = options;
  requireAbi(abi, processes);
  using held = new DisposableStack();
  const rights = held.use(rightsInNamespace(policy));
  const tier: Tier<Layout> = {
    ...viewsIn({ hasLandlock: abi > 0, cover: rights.cover, followsLinks: false }),
    name: "namespaces",
    notes: notesOf(abi, processes),
    rights,
    endpoints: ownEndpoints(ports),
    hasMounts: true,
    ownProcesses: processes,
    channel,
    // A namespace that dies with its command has no more to report than its exit code.
    reportsStatus: processes,
    connectRules: ownNetworkRules,
    plan: (source) => planFor(source, options, processes),
    open: async () => await openSession(options, rights),
  };
  return await openTier(tier, policy, { options, held });
}

async function openSession(
  { arch, ports, onSockets }: TierOptions,
  { maps }: OwnerRights,
): Promise<TierSession<Layout>> {
  const namespaces = await openNamespaces({ arch, ports, maps });
  return {
    begin() {
      if (ports.length > 0) onSockets?.(namespaces.takeListeners());
    },
    start: ({ path }) => ({ argv: [path], descriptors: [namespaces.user, namespaces.network] }),
    [Symbol.dispose]: () => namespaces[Symbol.dispose](),
  };
}

function planFor(source: Source<Layout>, { arch, abi, ports }: TierOptions, processes: boolean): TierPlan {
  const { view: layout, limits } = source;
  const most = isOlderThan(firstWithPidLimits) ? undefined : limits.processes;
  return {
    parent: process.pid,
    namespaces: {
      user,
      network,
      layout,
      ...(processes && {
        processes: {
          ...(source.channel === "status" && { report: channel }),
          ...(most !== undefined && { most }),
        },
      }),
    },
    ...(abi > 0 && { landlock: accessIn(layout, abi) }),
    filter: seccompFilter(arch, { ...ownNetworkFilter(source, ports), foreignProcesses: !processes }),
  };
}

function requireAbi(abi: number, processes: boolean): void {
  requireLandlockAsRoot(abi);
  if (!processes && abi < neededAbi)
    throw new Unavailable(
      `without a process namespace Landlock version ${neededAbi} is needed, this kernel has ${abi}`,
    );
}

function notesOf(abi: number, processes: boolean): string[] {
  return [
    ...(abi === 0 ? ["no Landlock: what commands may write is held by mounts alone"] : []),
    ...(processes && !isOlderThan(firstWithPidLimits) ? [] : processLimitNotes()),
    ...(processes
      ? []
      : [
          "no new /proc could be mounted: commands see that other processes are there, and what they leave running is looked for",
        ]),
  ];
}
