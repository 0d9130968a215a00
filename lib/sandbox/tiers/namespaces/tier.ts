import { closeSync } from "node:fs";
import { release as kernelRelease } from "node:os";
import type { Backend, Command, Confined } from "../../backend.ts";
import { openPipe } from "../../descriptors.ts";
import { neededAbi } from "../../landlock.ts";
import { canReplaceTmp, type Layout, layoutOf } from "../../layout.ts";
import type { Policy } from "../../policy.ts";
import { confiningProgram } from "../../program.ts";
import { ProgramFile } from "../../programfile.ts";
import { kernelMounts, look } from "../../scenery.ts";
import { seccompFilter } from "../../seccomp.ts";
import { StandIn } from "../../standin.ts";
import { accessIn } from "../access.ts";
import type { Surroundings } from "../tier.ts";
import { Unavailable } from "../unavailable.ts";
import { openNamespaces } from "./session.ts";

/** The numbers of the descriptors that each command's program is given. */
const [user, network, supervisor, report] = [3, 4, 5, 6] as const;

export type Shape = {
  /** With a process namespace, or without where no new /proc can be mounted. */
  processes: boolean;
};

/** The strongest tier: namespaces that koda makes by itself, Landlock and a filter inside of them. */
export async function openNamespacesTier(policy: Policy, around: Surroundings, { processes }: Shape): Promise<Backend> {
  const { arch, abi, connections } = around;
  mustSuffice(abi, processes);
  const namespaces = await openNamespaces(arch, around.ports);
  const kernel = kernelMounts();
  const filter = seccompFilter(arch, {
    network: policy.network === "none" ? "tcp" : "tcp",
    unixSockets: connections !== undefined,
    superviseConnect: connections !== undefined,
  });
  let protect: readonly string[] = [];
  let cached: { key: string; program: ProgramFile } | undefined;

  return {
    name: "namespaces",
    filesystem: "confined",
    network: policy.network === "none" ? "none" : "loopback",
    notes: notesOf(abi, processes),
    privateTmp: canReplaceTmp(policy, look),
    ownProcesses: processes,
    protect: (paths) => void (protect = paths),
    confine,
    [Symbol.dispose]() {
      cached?.program[Symbol.dispose]();
      namespaces[Symbol.dispose]();
    },
  };

  function confine(command: Command): Confined {
    const standIns = missing(policy).flatMap((path) => StandIn.hold(path) ?? []);
    const status = processes ? openPipe() : undefined;
    const program = programFor(layoutOf(policy, { look, protect, kernelMounts: kernel }));
    return {
      ...command,
      argv: [program.path, ...command.argv],
      // What is not used holds the place of its number all the same.
      descriptors: [
        namespaces.user,
        namespaces.network,
        connections?.socket ?? namespaces.user,
        ...(status ? [status.write] : []),
      ],
      ...(status && { status }),
      release() {
        for (const standIn of standIns) standIn[Symbol.dispose]();
      },
    };
  }

  /** Commands differ in their arguments only, so one program serves until something else is there to be seen. */
  function programFor(layout: Layout): ProgramFile {
    const key = JSON.stringify(layout);
    if (cached?.key === key) return cached.program;
    cached?.program[Symbol.dispose]();
    cached = { key, program: new ProgramFile(build(layout)) };
    return cached.program;
  }

  function build(layout: Layout): Uint8Array {
    const most = hasOwnPidLimit() ? policy.limits.processes : undefined;
    return confiningProgram({
      arch,
      parent: process.pid,
      namespaces: {
        user,
        network,
        layout,
        ...(processes && { processes: { report, ...(most !== undefined && { most }) } }),
      },
      ...(abi > 0 && { landlock: accessIn(layout, abi) }),
      limits: policy.limits,
      filter,
      ...(connections !== undefined && { supervisor }),
    });
  }
}

function mustSuffice(abi: number, processes: boolean): void {
  if (abi === 0 && process.getuid?.() === 0)
    throw new Unavailable(
      "without Landlock, user 0 could change the machine through /proc",
      "boot with lsm=landlock,…",
    );
  if (!processes && abi < neededAbi)
    throw new Unavailable(
      `without a process namespace Landlock version ${neededAbi} is needed, this kernel has ${abi}`,
    );
}

/** Those of the root that have to be protected before they are there. */
function missing({ readonly }: Policy): string[] {
  return readonly.filter((path) => look(path) === undefined);
}

/** Before 6.14 the number of processes is limited for the whole machine, which is not ours to change. */
function hasOwnPidLimit(): boolean {
  const [major = 0, minor = 0] = kernelRelease().split(".").map(Number);
  return major > 6 || (major === 6 && minor >= 14);
}

function notesOf(abi: number, processes: boolean): string[] {
  return [
    ...(abi === 0 ? ["no Landlock: what commands may write is held by mounts alone"] : []),
    ...(processes
      ? []
      : [
          "no new /proc could be mounted: commands see that other processes are there, and what they leave running is looked for",
        ]),
  ];
}
