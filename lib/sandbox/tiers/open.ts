import { openPipe } from "../../system/pipe.ts";
import type { Backend, Command, Confined, Manner } from "../backend.ts";
import type { Policy } from "../policy/policy.ts";
import { probe } from "../probe.ts";
import { confiningProgram } from "../program/program.ts";
import { Programs } from "../program/programs.ts";
import { neededAbi } from "../program/steps/landlock.ts";
import { Supervisor } from "../supervisor/supervisor.ts";
import { type PreparedPolicy, PreparedPolicies } from "./prepared.ts";
import { type Source, supervisorAt, type Tier, type TierOptions } from "./tier.ts";
import { orRefuse, Unavailable } from "./unavailable.ts";

type Opening = {
  options: TierOptions;
  /** Disposed of with the backend. */
  held: DisposableStack;
};

/** Opens a tier; a command has run in it when this settles. Throws Unavailable where it does not work. */
export async function openTier<View>(tier: Tier<View>, policy: Policy, { options, held }: Opening): Promise<Backend> {
  const opening = tier.open();
  const programs = held.use(new Programs<Source<View>>((source) => build(tier, source, options)));
  let policies: PreparedPolicies<View>;
  let first: Source<View>;
  try {
    policies = new PreparedPolicies(tier, policy);
    first = sourceFor(policies.own, "watched");
    programs.of(first);
  } finally {
    held.use(await opening);
  }
  const session = await opening;
  await probe((command, socket) => confine(command, first, socket), policy.root);
  session.begin?.();
  const supervisor = held.use(new Supervisor(options.onRefusal));
  const opened = held.move();
  return {
    ...factsOf(tier, options),
    policy: policies.own.policy,
    prepare: () => void programs.of(sourceFor(policies.own, "watched")),
    confine: (command, { policy: narrower, manner = "watched" } = {}) =>
      orRefuse(() => {
        const prepared = policies.for(narrower);
        return confine(command, sourceFor(prepared, manner), supervisor.socketFor(prepared.rules));
      }),
    [Symbol.dispose]: () => opened.dispose(),
  };

  function confine(command: Command, source: Source<View>, socket: number): Confined {
    using taken = new DisposableStack();
    const { channel, view } = source;
    const { argv, descriptors } = session.start(programs.of(source), { cwd: command.cwd, view, held: taken });
    const pipe = channel && openPipe();
    if (channel !== undefined && pipe === undefined) throw new Unavailable("no pipe could be made");
    const held = taken.move();
    const own = [socket, ...descriptors, ...(pipe ? [pipe.write] : [])];
    const { program } = command;
    const [path, ...args] = command.argv;
    return {
      ...command,
      argv: [...argv, program === undefined ? path : `/proc/self/fd/${supervisorAt + own.length}`, ...args],
      descriptors: program === undefined ? own : [...own, program],
      ...(pipe && channel && { [channel]: pipe }),
      release: () => held.dispose(),
    };
  }

  function sourceFor({ policy: { limits, network }, look }: PreparedPolicy<View>, manner: Manner): Source<View> {
    const channel = manner === "attached" ? "complaints" : tier.reportsStatus ? "status" : undefined;
    return { view: look(), channel, limits, network };
  }
}

function build<View>(tier: Tier<View>, source: Source<View>, { arch }: TierOptions): Uint8Array {
  return confiningProgram({
    arch,
    capabilities: tier.rights.capabilities,
    limits: source.limits,
    supervisor: supervisorAt,
    ...(source.channel === "complaints" && { complaints: tier.channel }),
    ...tier.plan(source),
  });
}

function factsOf<View>(tier: Tier<View>, { abi }: TierOptions) {
  const { name, notes, rights, endpoints, hasMounts, ownProcesses } = tier;
  const [http, socks] = endpoints;
  return {
    name,
    filesystem: "confined",
    network: endpoints.length === 0 ? "none" : "proxies",
    ...(http && socks && { proxies: { http, socks } }),
    notes: [...notes, ...rights.notes],
    placesCopies: hasMounts,
    guards: !hasMounts,
    ownProcesses,
    mayShareGroup: abi >= neededAbi,
  } as const;
}
