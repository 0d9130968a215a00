import { closeSync } from "node:fs";
import { openPipe } from "../../../system/pipe.ts";
import { Assembly } from "../../assembly/assembly.ts";
import { type Arch, processors } from "../../assembly/processors.ts";
import type { Backend, Command, Confined, Manner } from "../../backend.ts";
import { sealedFile } from "../../../system/descriptors.ts";
import { seccompFilter } from "../../filter/seccomp.ts";
import type { Layout } from "../../layout/layout.ts";
import { standInsFor } from "../../layout/standin.ts";
import type { Policy } from "../../policy/policy.ts";
import { probe } from "../../probe.ts";
import { confiningProgram } from "../../program/program.ts";
import { ProgramFile } from "../../program/programfile.ts";
import { Programs } from "../../program/programs.ts";
import { neededAbi } from "../../program/steps/landlock.ts";
import { holdSignals } from "../../program/steps/process.ts";
import { Connections } from "../../supervisor/connections.ts";
import { accessIn } from "../access.ts";
import { type Lent, lendInNamespace } from "../lent.ts";
import { openNamespaces } from "../namespaces/session.ts";
import { mustHoldRoot } from "../nolandlock.ts";
import { connectRulesOf, ownNetwork, proxiesAt, type TierOptions } from "../tier.ts";
import { orRefuse, Unavailable } from "../unavailable.ts";
import { unlimitedForRoot } from "../unlimited.ts";
import { viewOf } from "../view.ts";
import { bwrapArguments } from "./arguments.ts";
import { findBwrap } from "./find.ts";
import { Handover } from "./handover.ts";

/** The numbers of the descriptors that each command is given; bubblewrap hands on what it does not use itself. */
const [supervisor, argumentList, program, handover] = [3, 4, 5, 6] as const;

/**
 * The second tier: bubblewrap makes the namespaces where koda may not, and in them runs the program that sets Landlock
 * and the filter. Each command has a network of its own, and what it leaves running ends with it.
 */
export async function openBwrapTier(policy: Policy, options: TierOptions): Promise<Backend> {
  const { arch, abi } = options;
  mustHoldRoot(abi);
  const bwrap = findBwrap(options.searchPath, policy.write);
  using held = new DisposableStack();
  const lent = held.use(lendInNamespace(policy));
  // Bubblewrap itself maps koda's own user only.
  const user = lent.maps && held.use(await openNamespaces({ arch, ports: [], maps: lent.maps })).user;
  const view = viewOf(policy, lent.cover);
  const connections = held.use(new Connections(connectRulesOf(policy, view.replacesTmp), options));
  const patient = held.use(new ProgramFile(patientProgram(arch)));
  const programs = held.use(new Programs((source: Source) => build(source, { policy, options, lent })));
  await probe((command, socket) => prepare(command, { socket, manner: "watched" }), policy.root);

  const proxies = proxiesAt(options.ports);
  const opened = held.move();
  return {
    name: "bwrap",
    filesystem: "confined",
    network: proxies === undefined ? "none" : "proxies",
    ...(proxies && { proxies }),
    notes: [
      "what a command leaves running ends with it, and commands do not reach each other's servers",
      "a .git or .koda that is a symlink is protected only where it leads to",
      ...unlimitedForRoot(),
      ...lent.notes,
    ],
    ...(lent.owners && { owners: lent.owners }),
    privateTmp: view.replacesTmp,
    placesCopies: true,
    ownProcesses: true,
    guards: false,
    mayShareGroup: abi >= neededAbi,
    protect: view.protect,
    confine: (command, manner = "watched") => orRefuse(() => prepare(command, { socket: connections.socket, manner })),
    [Symbol.dispose]: () => opened.dispose(),
  };

  function prepare(command: Command, { socket, manner }: { socket: number; manner: Manner }): Confined {
    using taken = new DisposableStack();
    taken.use(standInsFor(policy));
    const layout = view.layout();
    const complaints = manner === "attached" ? openPipe() : undefined;
    const inner = programs.of({ layout, complains: complaints !== undefined });
    if (inner.descriptor === undefined) throw new Unavailable("no memory file can be made");
    const sockets = options.ports.length > 0 ? taken.use(new Handover(options.onSockets)) : undefined;
    const further = [sockets?.socket, complaints?.write, user].filter((descriptor) => descriptor !== undefined);
    const list = bwrapArguments(layout, {
      cwd: command.cwd,
      // The last one that it is given.
      user: user && program + further.length,
      capabilities: lent.capabilities,
    });
    // Not on the command line, which everyone can read, and which has an end.
    const argumentFile = sealedFile("koda-bwrap", Buffer.from(list.map((argument) => `${argument}\0`).join("")));
    if (argumentFile === undefined) throw new Unavailable("no memory file can be made");
    taken.defer(() => closeSync(argumentFile));
    const held = taken.move();
    return {
      ...command,
      argv: [patient.path, bwrap, "--args", String(argumentList), "--", `/proc/self/fd/${program}`, ...command.argv],
      descriptors: [socket, argumentFile, inner.descriptor, ...further],
      ...(complaints && { complaints }),
      release: () => held.dispose(),
    };
  }
}

type Source = { layout: Layout; complains: boolean };

type Building = { policy: Policy; options: TierOptions; lent: Lent };

function build({ layout, complains }: Source, { policy, options, lent }: Building): Uint8Array {
  const { arch, abi, ports } = options;
  return confiningProgram({
    arch,
    capabilities: lent.capabilities,
    ...(abi > 0 && { landlock: accessIn(layout, abi) }),
    limits: policy.limits,
    ...(ports.length > 0 && { listen: { ports, socket: handover } }),
    filter: seccompFilter(arch, { ...ownNetwork, foreignProcesses: false }),
    supervisor,
    ...(complains && { complaints: ports.length > 0 ? handover + 1 : handover }),
  });
}

/** bubblewrap would end at a signal to the group, and everything in it at once; like this it waits for its command. */
function patientProgram(arch: Arch): Uint8Array {
  const assembly = new Assembly(processors[arch]);
  holdSignals(assembly);
  assembly.step("execve", [assembly.program, assembly.argv, assembly.environment], { must: "execve bwrap" });
  return assembly.finish();
}
