import { openPipe } from "../../../system/pipe.ts";
import type { Backend, Command, Confined, Manner } from "../../backend.ts";
import { seccompFilter } from "../../filter/seccomp.ts";
import type { Policy } from "../../policy/policy.ts";
import { probe } from "../../probe.ts";
import { confiningProgram } from "../../program/program.ts";
import { Programs } from "../../program/programs.ts";
import { neededAbi } from "../../program/steps/landlock.ts";
import { Connections } from "../../supervisor/connections.ts";
import type { ConnectRules } from "../../supervisor/rules.ts";
import { type Lent, lendHere } from "../lent.ts";
import { noLandlock } from "../nolandlock.ts";
import type { TierOptions } from "../tier.ts";
import { orRefuse, Unavailable } from "../unavailable.ts";
import { unlimitedForRoot } from "../unlimited.ts";
import { gaps } from "./notes.ts";
import { type Reach, reachOf, restrictionTo } from "./reach.ts";

/** The numbers of the descriptors that each command's program is given. */
const [supervisor, channel] = [3, 4] as const;

/** Where no namespaces can be had: Landlock, a filter, and a supervisor that connects to nothing but the proxies, and lets nobody in. */
export async function openLandlockTier(policy: Policy, options: TierOptions): Promise<Backend> {
  mustSuffice(options.abi);
  const rules = connectRulesOf(policy, options);
  using held = new DisposableStack();
  const lent = held.use(lendHere(policy));
  const connections = held.use(new Connections(rules, options));
  const programs = held.use(new Programs((source: Source) => build(source, { policy, options, lent })));
  await probe((command, socket) => prepare(command, { socket, manner: "watched" }), policy.root);
  const [http, socks] = rules.tcp;
  const proxies = http && socks && { http, socks };
  const opened = held.move();
  return {
    name: "landlock",
    filesystem: "confined",
    network: rules.tcp.length === 0 ? "none" : "proxies",
    ...(proxies && { proxies }),
    notes: [...gaps, ...unlimitedForRoot(), ...lent.notes],
    ...(lent.owners && { owners: lent.owners }),
    privateTmp: false,
    placesCopies: false,
    ownProcesses: false,
    guards: true,
    mayShareGroup: true,
    // Whoever guards has been told as well.
    protect: () => {},
    confine: (command, manner = "watched") => orRefuse(() => prepare(command, { socket: connections.socket, manner })),
    [Symbol.dispose]: () => opened.dispose(),
  };

  function prepare(command: Command, { socket, manner }: { socket: number; manner: Manner }): Confined {
    const reach = reachOf(policy);
    const complaints = manner === "attached" ? openPipe() : undefined;
    const program = programs.of({ reach, complains: complaints !== undefined });
    return {
      ...command,
      argv: [program.path, ...command.argv],
      descriptors: [socket, ...(complaints ? [complaints.write] : [])],
      ...(complaints && { complaints }),
      release: () => {},
    };
  }
}

function mustSuffice(abi: number): void {
  if (abi >= neededAbi) return;
  if (abi === 0) throw noLandlock();
  throw new Unavailable(
    `Landlock version ${neededAbi} is needed, this kernel has version ${abi}`,
    "use Linux 6.12 or later",
  );
}

type Rules = ConnectRules & { tcp: Exclude<ConnectRules["tcp"], "any"> };

/** Exactly these: in the host's own network everything else is somebody else's. */
function connectRulesOf({ write, hide, network }: Policy, { endpoints = [] }: TierOptions): Rules {
  return { sockets: write, except: hide, names: [], tcp: network === "none" ? [] : endpoints, abstract: false };
}

type Source = { reach: Reach; complains: boolean };

type Building = { policy: Policy; options: TierOptions; lent: Lent };

function build({ reach, complains }: Source, { policy, options: { arch, abi }, lent }: Building): Uint8Array {
  const { limits, network } = policy;
  return confiningProgram({
    arch,
    parent: process.pid,
    capabilities: lent.capabilities,
    landlock: restrictionTo(reach, abi),
    limits,
    filter: seccompFilter(arch, {
      network: network === "none" ? "none" : "tcp",
      unixSockets: true,
      superviseConnect: true,
      superviseListen: true,
      foreignProcesses: true,
      foreignIpc: true,
    }),
    supervisor,
    ...(complains && { complaints: channel }),
  });
}
