import { landlockAbi } from "./abi.ts";
import { type Backend, noCommands } from "./backend.ts";
import { canReplaceTmp } from "./layout/layout.ts";
import { look } from "./layout/host.ts";
import { describeMissed, mergeMissed, type Missed } from "./missed.ts";
import type { Policy } from "./policy/policy.ts";
import type { Endpoint } from "./supervisor/rules.ts";
import type { Shape } from "./tiers/namespaces/tier.ts";
import type { TierOptions } from "./tiers/tier.ts";
import { Unavailable } from "./tiers/unavailable.ts";

type DetectOptions = Omit<TierOptions, "arch" | "abi" | "endpoints"> & {
  /** Opens the proxies on this machine, for a tier without a network of its own: HTTP, SOCKS. */
  openEndpoints?: () => Promise<readonly Endpoint[]>;
  /** The policy, by whether commands will find the run's own directory in the place of `/tmp`. */
  policyFor(privateTmp: boolean): Policy;
};

export type Detected = {
  backend: Backend;
  policy: Policy;
  missed: readonly Missed[];
  /** Known gaps of this tier: the backend's notes without the reasons why stronger ones were not taken. */
  gaps: readonly string[];
};

type Tier = {
  name: string;
  /** Commands can find the run's own directory as `/tmp`. */
  replacesTmp: boolean;
  open(policy: Policy, options: TierOptions, openEndpoints: DetectOptions["openEndpoints"]): Promise<Backend>;
};

const inNamespaces =
  (shape: Shape): Tier["open"] =>
  async (policy, options) => {
    const { openNamespacesTier } = await import("./tiers/namespaces/tier.ts");
    return await openNamespacesTier(policy, options, shape);
  };

/** The strongest first; each is opened, with a command run in it, until one works. */
const tiers: readonly Tier[] = [
  { name: "namespaces", replacesTmp: true, open: inNamespaces({ processes: true }) },
  { name: "namespaces without a process namespace", replacesTmp: true, open: inNamespaces({ processes: false }) },
  {
    name: "bwrap",
    replacesTmp: true,
    async open(policy, options) {
      const { openBwrapTier } = await import("./tiers/bwrap/tier.ts");
      return await openBwrapTier(policy, options);
    },
  },
  {
    name: "landlock",
    replacesTmp: false,
    async open(policy, options, openEndpoints) {
      const { openLandlockTier } = await import("./tiers/landlock/tier.ts");
      return await openLandlockTier(policy, { ...options, endpoints: (await openEndpoints?.()) ?? [] });
    },
  },
];

/** The strongest sandbox that can be had here, and why it is no stronger. */
export async function detect({ policyFor, openEndpoints, ...given }: DetectOptions): Promise<Detected> {
  const arch = process.arch === "x64" || process.arch === "arm64" ? process.arch : undefined;
  if (process.platform !== "linux" || arch === undefined) {
    const reason = `koda confines commands on Linux on x86-64 and arm64, this is ${process.platform} on ${process.arch}`;
    return nothing(policyFor, [{ tier: "every tier", reason }]);
  }
  const options: TierOptions = { ...given, arch, abi: landlockAbi() };
  const missed: Missed[] = [];
  const replacing = policyFor(true);
  const canReplace = canReplaceTmp(replacing, look);
  for (const { name, replacesTmp, open } of tiers) {
    try {
      const given = replacesTmp && canReplace ? replacing : policyFor(false);
      const backend = await open(given, options, openEndpoints);
      const { policy = given, notes: gaps } = backend;
      return { backend: { ...backend, notes: [...gaps, ...reasonsOf(missed)] }, policy, missed, gaps };
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      const { message: reason, fix } = error;
      missed.push({ tier: name, reason, ...(fix !== undefined && { fix }) });
    }
  }
  return nothing(policyFor, missed);
}

function nothing(policyFor: DetectOptions["policyFor"], missed: readonly Missed[]): Detected {
  return { backend: noCommands(reasonsOf(missed)), policy: policyFor(false), missed, gaps: [] };
}

function reasonsOf(missed: readonly Missed[]): string[] {
  return mergeMissed(missed).map(describeMissed);
}
