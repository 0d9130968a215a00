import { findProgram, safeSearchPath } from "../../../files/program.ts";
import { Assembly } from "../../assembly/assembly.ts";
import { type Arch, processors } from "../../assembly/processors.ts";
import type { Backend } from "../../backend.ts";
import { seccompFilter } from "../../filter/seccomp.ts";
import type { Layout } from "../../layout/layout.ts";
import type { Policy } from "../../policy/policy.ts";
import { ProgramFile } from "../../program/programfile.ts";
import { blockSignals } from "../../program/steps/process.ts";
import { accessIn } from "../access.ts";
import { openNamespaces } from "../namespaces/session.ts";
import { requireLandlockAsRoot } from "../nolandlock.ts";
import { openTier } from "../open.ts";
import { ownEndpoints, ownNetworkFilter, ownNetworkRules } from "../ownnetwork.ts";
import { type OwnerRights, rightsInNamespace } from "../ownerrights.ts";
import type { TierSession, Source, Tier, TierOptions, TierPlan } from "../tier.ts";
import { processLimitNotes } from "../processlimit.ts";
import { Unavailable } from "../unavailable.ts";
import { viewsIn } from "../views.ts";
import { bwrapArguments } from "./arguments.ts";
import { Listeners } from "./listeners.ts";

/**
 * The numbers of the descriptors that each command is given after the supervisor's socket; bubblewrap hands on what it
 * does not use itself. Then come the user namespace, the socket for listeners and the channel, as far as they are
 * needed.
 */
const [argumentList, program, firstOther] = [4, 5, 6] as const;

/**
 * The second tier: bubblewrap makes the namespaces where koda may not, and in them runs the program that sets Landlock
 * and the filter. Each command has a network of its own, and what it leaves running ends with it.
 */
export async function openBwrapTier(policy: Policy, options: TierOptions): Promise<Backend> {
  const { abi, ports, searchPath } = options;
  requireLandlockAsRoot(abi);
  const bwrap = findBwrap(searchPath, policy.write);
  using held = new DisposableStack();
  const rights = held.use(rightsInNamespace(policy));
  const listeners = rights.maps === undefined ? firstOther : firstOther + 1;
  const tier: Tier<Layout> = {
    ...viewsIn({ hasLandlock: abi > 0, cover: rights.cover, followsLinks: true }),
    name: "bwrap",
    notes: [...gaps, ...processLimitNotes()],
    rights,
    endpoints: ownEndpoints(ports),
    hasMounts: true,
    ownProcesses: true,
    channel: ports.length > 0 ? listeners + 1 : listeners,
    reportsStatus: false,
    connectRules: ownNetworkRules,
    plan: (source) => planFor(source, options, listeners),
    open: async () => await openSession(bwrap, options, rights),
  };
  return await openTier(tier, policy, { options, held });
}

const usual = ["/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin"];

/** bubblewrap, where the system has it; never one that lies where commands can write, as a project's own tools do. */
function findBwrap(searchPath = "", writable: readonly string[]): string {
  const found = findProgram("bwrap", [...usual, ...safeSearchPath(searchPath, writable)], writable);
  if (found !== undefined) return found;
  throw new Unavailable("bubblewrap is not installed", "install the package bubblewrap");
}

const gaps = [
  "what a command leaves running ends with it, and commands do not reach each other's servers",
  "a .git, a .koda or a koda that is a symlink is protected only where it leads to",
];

function planFor(source: Source<Layout>, { arch, abi, ports }: TierOptions, listeners: number): TierPlan {
  return {
    ...(abi > 0 && { landlock: accessIn(source.view, abi) }),
    ...(ports.length > 0 && { listen: { ports, socket: listeners } }),
    filter: seccompFilter(arch, { ...ownNetworkFilter(source, ports), foreignProcesses: false }),
  };
}

async function openSession(
  bwrap: string,
  { arch, ports, onSockets }: TierOptions,
  { maps, capabilities }: OwnerRights,
): Promise<TierSession<Layout>> {
  using held = new DisposableStack();
  // Bubblewrap itself maps koda's own user only.
  const user = maps && held.use(await openNamespaces({ arch, ports: [], maps })).user;
  const waiting = held.use(new ProgramFile(waitingProgram(arch)));
  const opened = held.move();
  return {
    start({ descriptor }, { cwd, view, held: taken }) {
      const list = bwrapArguments(view, { cwd, user: user && firstOther, capabilities });
      // Not on the command line, which everyone can read, and which has an end.
      const content = Buffer.from(list.map((argument) => `${argument}\0`).join(""));
      const argumentFile = taken.use(new ProgramFile(content, { name: "koda-bwrap" })).descriptor;
      const listeners = ports.length > 0 ? taken.use(new Listeners(onSockets)).socket : undefined;
      const others = [user, listeners].filter((other) => other !== undefined);
      return {
        argv: [waiting.path, bwrap, "--args", String(argumentList), "--", `/proc/self/fd/${program}`],
        descriptors: [argumentFile, descriptor, ...others],
      };
    },
    [Symbol.dispose]: () => opened.dispose(),
  };
}

/** Bubblewrap would end at a signal to the group, and everything in it at once; like this it waits for its command. */
function waitingProgram(arch: Arch): Uint8Array {
  const assembly = new Assembly(processors[arch]);
  blockSignals(assembly);
  assembly.step("execve", [assembly.program, assembly.argv, assembly.environment], { must: "execve bwrap" });
  return assembly.finish();
}
