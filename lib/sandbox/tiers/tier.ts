import type { Network } from "../../config/config.ts";
import type { Arch } from "../assembly/processors.ts";
import type { BackendName } from "../backend.ts";
import type { Policy, ResourceLimits } from "../policy/policy.ts";
import type { Plan } from "../program/program.ts";
import type { ProgramFile } from "../program/programfile.ts";
import type { ConnectRules, Endpoint, Refusal } from "../supervisor/rules.ts";
import type { OwnerRights } from "./ownerrights.ts";

/** Given to every tier beside the policy. */
export type TierOptions = {
  arch: Arch;
  /** The version of this kernel's Landlock; 0 where there is none. */
  abi: number;
  /** The ports of the proxies in a network of the commands' own, in this order: HTTP, SOCKS. */
  ports: readonly number[];
  /** Takes the sockets that listen there, in the order of the ports, and closes them when it is disposed of. */
  onSockets?: (sockets: readonly number[]) => Disposable;
  /** The proxies' addresses on this machine, for a tier without a network of its own. */
  endpoints?: readonly Endpoint[];
  /** The PATH on which programs of the system are looked for. */
  searchPath: string | undefined;
  onRefusal: (refusal: Refusal) => void;
};

/**
 * A tier: what is known of it, and the steps in which it differs from the others. A view is what a command sees of the
 * file system, as data.
 */
export type Tier<View> = {
  name: BackendName;
  /** Known gaps. */
  notes: readonly string[];
  rights: OwnerRights;
  /** The proxies' addresses for commands, in this order: HTTP, SOCKS. */
  endpoints: readonly Endpoint[];
  /** Views are made by mounts; otherwise Landlock alone holds them. */
  hasMounts: boolean;
  ownProcesses: boolean;
  /** The number of the channel's descriptor: the last one that a command's program gets. */
  channel: number;
  /** The spawned process outlives a watched command, and reports its status. */
  reportsStatus: boolean;
  /** Looks at a policy's places before its first command; the result looks again for each, since files come and go. */
  viewer(policy: Policy): () => View;
  connectRules(policy: Policy): ConnectRules;
  plan(source: Source<View>): TierPlan;
  /** Makes what the session needs; the first program is built meanwhile. */
  open(): Promise<TierSession<View>>;
};

export type TierSession<View> = Disposable & {
  /** Called when a command has run in it. */
  begin?(): void;
  start(program: ProgramFile, command: Starting<View>): Start;
};

/** The purpose of a pipe from a command's program to koda, as `Confined` has them. */
type Channel = "status" | "complaints";

/** All that a command's program depends on: commands of equal sources share one program. */
export type Source<View> = {
  view: View;
  channel: Channel | undefined;
  limits: ResourceLimits;
  network: Network;
};

/** The descriptor of the supervisor's socket in every program; those of the tier follow. */
export const supervisorAt = 3;

/** The tier's own part of the plan for a program. */
export type TierPlan = Omit<Plan, "arch" | "capabilities" | "limits" | "supervisor" | "complaints">;

/** A command that is to be started; `held` is disposed of when nothing of it is left. */
type Starting<View> = { cwd: string; view: View; held: DisposableStack };

/** The arguments before the command's, and the descriptors after the supervisor's. */
type Start = { argv: readonly [program: string, ...args: string[]]; descriptors: readonly number[] };
