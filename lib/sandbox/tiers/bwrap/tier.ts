import { closeSync } from "node:fs";
import type { Backend } from "../../backend.ts";
import { sealedFile } from "../../descriptors.ts";
import { seccompFilter } from "../../filter/seccomp.ts";
import type { Layout } from "../../layout/layout.ts";
import type { Policy } from "../../policy/policy.ts";
import { ProgramFile } from "../../program/programfile.ts";
import { accessIn } from "../access.ts";
import { openNamespaces } from "../namespaces/session.ts";
import { mustHoldRoot } from "../nolandlock.ts";
import { openTier } from "../open.ts";
import { ownEndpoints, ownNetworkFilter, ownNetworkRules } from "../ownnetwork.ts";
import { type OwnerRights, rightsInNamespace } from "../ownerrights.ts";
import type { Launch, LaunchParts, Source, TierOptions, TierPlan } from "../tier.ts";
import { Unavailable } from "../unavailable.ts";
import { unlimitedForRoot } from "../unlimited.ts";
import { viewsIn } from "../views.ts";
import { bwrapArguments } from "./arguments.ts";
import { findBwrap } from "./find.ts";
import { Listeners } from "./listeners.ts";
import { waitingProgram } from "./waiting.ts";

/**
 * The numbers of the descriptors that each command is given after the supervisor's socket; bubblewrap hands on what it
 * does not use itself. The user namespace is there only where bubblewrap is to take one.
 */
const [argumentList, program, firstOther] = [4, 5, 6] as const;

const notes = [
  "what a command leaves running ends with it, and commands do not reach each other's servers",
  "a .git or .koda that is a symlink is protected only where it leads to",
];

/**
 * The second tier: bubblewrap makes the namespaces where koda may not, and in them runs the program that sets Landlock
 * and the filter. Each command has a network of its own, and what it leaves running ends with it.
 */
export async function openBwrapTier(policy: Policy, options: TierOptions): Promise<Backend> {
  mustHoldRoot(options.abi);
  const bwrap = findBwrap(options.searchPath, policy.write);
  using held = new DisposableStack();
  const rights = held.use(rightsInNamespace(policy));
  const parts = { bwrap, rights, options };
  return await openTier({
    tier: {
      ...viewsIn({ cover: rights.cover, followsLinks: true }),
      name: "bwrap",
      notes: [...notes, ...unlimitedForRoot()],
      rights,
      endpoints: ownEndpoints(options.ports),
      hasMounts: true,
      ownProcesses: true,
      open: async () => await openResources(options, rights),
      connectRules: ownNetworkRules,
      channelFor: (manner) => (manner === "attached" ? "complaints" : undefined),
      channelAt: (source) => listenersAt(rights) + (listens(source, options) ? 1 : 0),
      plan: (source) => planFor(source, parts),
      launch: (launch) => launchBwrap(launch, parts),
    },
    policy,
    options,
    held,
  });
}

type Parts = { bwrap: string; rights: OwnerRights; options: TierOptions };

type Resources = Disposable & { waiting: ProgramFile; user: number | undefined };

async function openResources({ arch }: TierOptions, { maps }: OwnerRights): Promise<Resources> {
  using held = new DisposableStack();
  // Bubblewrap itself maps koda's own user only.
  const user = maps && held.use(await openNamespaces({ arch, ports: [], maps })).user;
  const waiting = held.use(new ProgramFile(waitingProgram(arch)));
  const opened = held.move();
  return { waiting, user, [Symbol.dispose]: () => opened.dispose() };
}

function listenersAt({ maps }: OwnerRights): number {
  return maps === undefined ? firstOther : firstOther + 1;
}

/** Whether the proxies listen in the command's network. */
function listens({ network }: Source<Layout>, { ports }: TierOptions): boolean {
  return ports.length > 0 && network !== "none";
}

function planFor(source: Source<Layout>, { rights, options }: Parts): TierPlan {
  const { arch, abi, ports } = options;
  return {
    ...(abi > 0 && { landlock: accessIn(source.view, abi) }),
    ...(listens(source, options) && { listen: { ports, socket: listenersAt(rights) } }),
    filter: seccompFilter(arch, { ...ownNetworkFilter(source, ports), foreignProcesses: false }),
  };
}

function launchBwrap(
  { command: { cwd }, program: inner, source, resources, held }: LaunchParts<Layout, Resources>,
  { bwrap, rights, options }: Parts,
): Launch {
  const { waiting, user } = resources;
  if (inner.descriptor === undefined) throw new Unavailable("no memory file can be made");
  const list = bwrapArguments(source.view, {
    cwd,
    user: user === undefined ? undefined : firstOther,
    capabilities: rights.capabilities,
  });
  // Not on the command line, which everyone can read, and which has an end.
  const argumentFile = sealedFile("koda-bwrap", Buffer.from(list.map((argument) => `${argument}\0`).join("")));
  if (argumentFile === undefined) throw new Unavailable("no memory file can be made");
  held.defer(() => closeSync(argumentFile));
  const listeners = listens(source, options) ? held.use(new Listeners(options.onSockets)).socket : undefined;
  const others = [user, listeners].filter((descriptor) => descriptor !== undefined);
  return {
    argv: [waiting.path, bwrap, "--args", String(argumentList), "--", `/proc/self/fd/${program}`],
    descriptors: [argumentFile, inner.descriptor, ...others],
  };
}
