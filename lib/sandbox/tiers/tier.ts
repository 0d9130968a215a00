import type { Network } from "../../config/config.ts";
import type { Arch } from "../assembly/processors.ts";
import type { Backend, BackendName, Command, Manner } from "../backend.ts";
import type { Policy, ResourceLimits } from "../policy/policy.ts";
import type { Plan } from "../program/program.ts";
import type { ProgramFile } from "../program/programfile.ts";
import type { ConnectRules, Endpoint, Refusal } from "../supervisor/rules.ts";
import type { OwnerRights } from "./ownerrights.ts";

/** What every tier is given beside the policy. */
export type TierOptions = {
  arch: Arch;
  /** The version of this kernel's Landlock; 0 where there is none. */
  abi: number;
  /** Where the proxies listen in a network of the commands' own, in this order: HTTP, SOCKS. */
  ports: readonly number[];
  /** Takes the sockets that listen there, in the order of the ports, and closes them when it is disposed of. */
  onSockets?: (sockets: readonly number[]) => Disposable;
  /** Where the proxies listen on this machine, where a tier has no network of its own. */
  endpoints?: readonly Endpoint[];
  /** The PATH on which programs of the system are looked for. */
  searchPath: string | undefined;
  onRefusal: (refusal: Refusal) => void;
};

/** What is known of a tier before anything is confined in it. */
export type TierFacts = {
  name: BackendName;
  /** Known gaps. */
  notes: readonly string[];
  rights: OwnerRights;
  /** Where commands find the proxies, in this order: HTTP, SOCKS. */
  endpoints: readonly Endpoint[];
  /** What commands see of files is made by mounts; otherwise Landlock alone holds them. */
  hasMounts: boolean;
  ownProcesses: boolean;
  protect: Backend["protect"];
};

/**
 * A tier: its facts, and the steps in which it differs from the others. A view is what a command sees of the file
 * system, as data.
 */
export type Tier<View, Resources extends Disposable | undefined> = TierFacts & {
  /** Makes what the session needs; the first program is built meanwhile. */
  open(): Promise<Resources>;
  /** A command has run in it. */
  opened?(resources: Resources): void;
  /** Looks at a policy's places before its first command; the result looks again for each, since files come and go. */
  viewer(policy: Policy): () => View;
  connectRules(policy: Policy): ConnectRules;
  channelFor(manner: Manner): Channel | undefined;
  /** The number of the channel's descriptor: the last one that a command's program gets. */
  channelAt(source: Source<View>): number;
  plan(source: Source<View>): TierPlan;
  launch(parts: LaunchParts<View, Resources>): Launch;
};

/** The purpose of a pipe from a command's program to koda, as `Confined` has them. */
export type Channel = "status" | "complaints";

/** All that a command's program depends on: commands of equal sources share one program. */
export type Source<View> = {
  view: View;
  channel: Channel | undefined;
  limits: ResourceLimits;
  network: Network;
};

/** The descriptor of the supervisor's socket in every program; those of the tier follow. */
export const supervisorAt = 3;

/** What is the tier's own in the plan for a program. */
export type TierPlan = Omit<Plan, "arch" | "capabilities" | "limits" | "supervisor" | "complaints">;

export type LaunchParts<View, Resources> = {
  command: Command;
  program: ProgramFile;
  source: Source<View>;
  resources: Resources;
  /** Disposed of when nothing of the command is left. */
  held: DisposableStack;
};

/** How a command's program is started: the arguments before the command's, and the descriptors after the supervisor's. */
export type Launch = { argv: readonly [program: string, ...args: string[]]; descriptors: readonly number[] };
