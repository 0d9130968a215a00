import { Assembly } from "../assembly/assembly.ts";
import { type Arch, processors } from "../assembly/processors.ts";
import type { Layout } from "../layout/layout.ts";
import type { ResourceLimits } from "../policy/policy.ts";
import { type Capability, keepOnly } from "./steps/capabilities.ts";
import { filterCalls, sendDescriptors } from "./steps/filter.ts";
import { restrict, type Restriction } from "./steps/landlock.ts";
import { listen } from "./steps/listen.ts";
import { arrange } from "./steps/mounts.ts";
import { inOwnProcessTree } from "./steps/pids.ts";
import {
  closeOnExecFrom,
  dieWithParent,
  blockSignals,
  exitUnlessChildOf,
  unblockSignals,
  limitResources,
} from "./steps/process.ts";

/** The steps between the spawn and the command, in a process that becomes the command. */
export type Plan = {
  arch: Arch;
  /** The process that starts it, where both are in one process namespace. */
  parent?: number;
  /** Namespaces of its own and what is mounted in them; without, the program is confined where it is. */
  namespaces?: {
    /** Descriptors of the session's namespaces. */
    user: number;
    network: number;
    layout: Layout;
    /** A process namespace too. Without a report what the command leaves running is killed. */
    processes?: { report?: number; most?: number };
  };
  /** Rights of user 0 that the command keeps: none, but for `OwnerRights`. */
  capabilities?: readonly Capability[];
  landlock?: Restriction;
  limits: ResourceLimits;
  /** Ports of its network's loopback to listen on for koda, and the socket through which those are handed over. */
  listen?: { ports: readonly number[]; socket: number };
  filter: Uint8Array;
  /** The socket to the supervisor of connections. */
  supervisor?: number;
  /** For the message about a failed step, when stderr is the command's alone. */
  complaints?: number;
};

const [CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC] = [0x20000, 0x4000000, 0x8000000] as const;
const [CLONE_NEWUSER, CLONE_NEWNET] = [0x10000000, 0x40000000] as const;
const firstDescriptor = 3;
const longestPath = 4096;

/** The program that confines itself as planned and then becomes the command that its arguments name. */
export function confiningProgram(plan: Plan): Uint8Array {
  const { complaints } = plan;
  const program = new Assembly(processors[plan.arch], {
    ...(complaints !== undefined && { complaints }),
  });
  blockSignals(program);
  dieWithParent(program);
  if (plan.parent !== undefined) exitUnlessChildOf(program, plan.parent);
  if (plan.namespaces !== undefined) enterNamespaces(program, plan.namespaces);

  keepOnly(program, plan.capabilities ?? []);
  if (plan.listen !== undefined) {
    const { ports, socket } = plan.listen;
    sendDescriptors(program, { socket, descriptors: ports.map((port) => listen(program, port)) });
  }
  if (plan.landlock !== undefined) restrict(program, plan.landlock);
  limitResources(program, plan.limits);
  filterCalls(program, { filter: plan.filter, ...(plan.supervisor !== undefined && { listener: plan.supervisor }) });
  closeOnExecFrom(program, firstDescriptor);
  unblockSignals(program);
  program.step("execve", [program.program, program.argv, program.environment], { must: "execve" });
  return program.finish();
}

function enterNamespaces(
  program: Assembly,
  { user, network, layout, processes }: NonNullable<Plan["namespaces"]>,
): void {
  const directory = program.bytes(new Uint8Array(longestPath));
  program.step("getcwd", [directory, longestPath], { must: "getcwd" });
  program.step("setns", [user, CLONE_NEWUSER], { must: "setns(user)" });
  program.step("setns", [network, CLONE_NEWNET], { must: "setns(net)" });
  program.step("unshare", [CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS], { must: "unshare(mnt, ipc, uts)" });
  arrange(program, layout);
  // By its old name, on what is mounted now: the old place is on the old, read-only tree.
  program.step("chdir", [directory], { must: "chdir to the command's directory" });
  // Joining a user namespace may have taken that back.
  dieWithParent(program);
  if (processes === undefined) return;
  inOwnProcessTree(program, processes);
}
