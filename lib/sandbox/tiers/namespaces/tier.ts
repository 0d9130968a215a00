import { openPipe } from "../../../system/pipe.ts";
import type { Backend, Command, Confined, Manner } from "../../backend.ts";
import { seccompFilter } from "../../filter/seccomp.ts";
import { isOlderThan } from "../../kernel.ts";
import type { Layout } from "../../layout/layout.ts";
import { standInsFor } from "../../layout/standin.ts";
import type { Policy } from "../../policy/policy.ts";
import { probe } from "../../probe.ts";
import { confiningProgram } from "../../program/program.ts";
import { Programs } from "../../program/programs.ts";
import { neededAbi } from "../../program/steps/landlock.ts";
import { Connections } from "../../supervisor/connections.ts";
import { accessIn } from "../access.ts";
import { type Lent, lendInNamespace } from "../lent.ts";
import { mustHoldRoot } from "../nolandlock.ts";
import { connectRulesOf, ownNetwork, proxiesAt, type TierOptions } from "../tier.ts";
import { Unavailable } from "../unavailable.ts";
import { unlimitedForRoot } from "../unlimited.ts";
import { viewOf } from "../view.ts";
import { openNamespaces } from "./session.ts";

/** The numbers of the descriptors that each command's program is given. */
const [user, network, supervisor, channel] = [3, 4, 5, 6] as const;

/** Before it the number of processes is limited for the whole machine, which is not ours to change. */
const firstWithPidLimits = [6, 14] as const;

export type Shape = {
  /** With a process namespace, or without where no new /proc can be mounted. */
  processes: boolean;
};

/** The strongest tier: namespaces that koda makes by itself, Landlock and a filter inside of them. */
export async function openNamespacesTier(policy: Policy, options: TierOptions, { processes }: Shape): Promise<Backend> {
  const { arch, abi } = options;
  mustSuffice(abi, processes);
  using held = new DisposableStack();
  const lent = held.use(lendInNamespace(policy));
  const view = viewOf(policy, lent.cover);
  const connections = held.use(new Connections(connectRulesOf(policy, view.replacesTmp), options));
  const programs = held.use(new Programs((source: Source) => build(source, { policy, options, processes, lent })));

  // The first program is built while another one makes the namespaces.
  using _ = standInsFor(policy);
  const [namespaces] = await Promise.all([
    openNamespaces({ arch, ports: options.ports, maps: lent.maps }),
    programs.of({ layout: view.layout(), purpose: purposeOf("watched", processes) }),
  ]);
  held.use(namespaces);
  await probe((command, socket) => prepare(command, { socket, manner: "watched" }), policy.root);
  const proxies = proxiesAt(options.ports);
  if (proxies !== undefined) options.onSockets?.(namespaces.takeListeners());
  const opened = held.move();
  return {
    name: "namespaces",
    filesystem: "confined",
    network: proxies === undefined ? "none" : "proxies",
    ...(proxies && { proxies }),
    notes: [...notesOf(abi, processes), ...lent.notes],
    ...(lent.owners && { owners: lent.owners }),
    privateTmp: view.replacesTmp,
    placesCopies: true,
    ownProcesses: processes,
    guards: false,
    mayShareGroup: abi >= neededAbi,
    protect: view.protect,
    confine: (command, manner = "watched") => prepare(command, { socket: connections.socket, manner }),
    [Symbol.dispose]: () => opened.dispose(),
  };

  function prepare(command: Command, { socket, manner }: { socket: number; manner: Manner }): Confined {
    using taken = new DisposableStack();
    taken.use(standInsFor(policy));
    const layout = view.layout();
    const purpose = purposeOf(manner, processes);
    const pipe = purpose === undefined ? undefined : openPipe();
    const program = programs.of({ layout, purpose: pipe && purpose });
    const held = taken.move();
    return {
      ...command,
      argv: [program.path, ...command.argv],
      descriptors: [namespaces.user, namespaces.network, socket, ...(pipe ? [pipe.write] : [])],
      ...(pipe && purpose && { [purpose]: pipe }),
      release: () => held.dispose(),
    };
  }
}

/** What the channel to koda is for. A namespace that dies with its command has no more to report than its exit code. */
type Purpose = "status" | "complaints" | undefined;

function purposeOf(manner: Manner, processes: boolean): Purpose {
  if (manner === "attached") return "complaints";
  return processes ? "status" : undefined;
}

type Source = { layout: Layout; purpose: Purpose };
type Building = { policy: Policy; options: TierOptions; processes: boolean; lent: Lent };

function build({ layout, purpose }: Source, { policy, options, processes, lent }: Building): Uint8Array {
  const { arch, abi } = options;
  const most = isOlderThan(firstWithPidLimits) ? undefined : policy.limits.processes;
  return confiningProgram({
    arch,
    parent: process.pid,
    namespaces: {
      user,
      network,
      layout,
      ...(processes && {
        processes: { ...(purpose === "status" && { report: channel }), ...(most !== undefined && { most }) },
      }),
    },
    capabilities: lent.capabilities,
    ...(abi > 0 && { landlock: accessIn(layout, abi) }),
    limits: policy.limits,
    filter: seccompFilter(arch, { ...ownNetwork, foreignProcesses: !processes }),
    supervisor,
    ...(purpose === "complaints" && { complaints: channel }),
  });
}

function mustSuffice(abi: number, processes: boolean): void {
  mustHoldRoot(abi);
  if (!processes && abi < neededAbi)
    throw new Unavailable(
      `without a process namespace Landlock version ${neededAbi} is needed, this kernel has ${abi}`,
    );
}

function notesOf(abi: number, processes: boolean): string[] {
  return [
    ...(abi === 0 ? ["no Landlock: what commands may write is held by mounts alone"] : []),
    ...(processes && !isOlderThan(firstWithPidLimits) ? [] : unlimitedForRoot()),
    ...(processes
      ? []
      : [
          "no new /proc could be mounted: commands see that other processes are there, and what they leave running is looked for",
        ]),
  ];
}
