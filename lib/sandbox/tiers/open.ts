import type { Backend } from "../backend.ts";
import { standInsFor } from "../layout/standin.ts";
import type { Policy } from "../policy/policy.ts";
import { probe } from "../probe.ts";
import { confiningProgram } from "../program/program.ts";
import { Programs } from "../program/programs.ts";
import { neededAbi } from "../program/steps/landlock.ts";
import { Supervisor } from "../supervisor/supervisor.ts";
import { launch, sourceFor } from "./launch.ts";
import { PreparedPolicies } from "./prepared.ts";
import { type Source, supervisorAt, type Tier, type TierFacts, type TierOptions } from "./tier.ts";
import { orRefuse } from "./unavailable.ts";

type Opening<View, Resources extends Disposable | undefined> = {
  tier: Tier<View, Resources>;
  policy: Policy;
  options: TierOptions;
  /** Disposed of with the backend. */
  held: DisposableStack;
};

/** Opens a tier; a command has run in it when this settles. Throws Unavailable or ProbeFailure where it does not work. */
export async function openTier<View, Resources extends Disposable | undefined>({
  tier,
  policy,
  options,
  held,
}: Opening<View, Resources>): Promise<Backend> {
  const policies = new PreparedPolicies(tier, policy);
  const { own } = policies;
  const programs = held.use(new Programs<Source<View>>((source) => build(tier, source, options)));
  // With these the view is already the one of the first command.
  using _ = tier.hasMounts ? standInsFor(policy) : undefined;
  const opening = tier.open();
  try {
    programs.of(sourceFor(tier, own, "watched"));
  } finally {
    held.use(await opening);
  }
  const session = { tier, programs, resources: await opening };
  await probe((command, socket) => launch(session, command, { prepared: own, socket, manner: "watched" }), policy.root);

  tier.opened?.(session.resources);
  const supervisor = held.use(new Supervisor(options.onRefusal));
  const opened = held.move();
  return {
    ...factsOf(tier, options.abi),
    policy: own.policy,
    confine: (command, { policy: narrower, manner = "watched" } = {}) =>
      orRefuse(() => {
        const prepared = policies.for(narrower);
        return launch(session, command, { prepared, socket: supervisor.socketFor(prepared.rules), manner });
      }),
    [Symbol.dispose]: () => opened.dispose(),
  };
}

function build<View>(
  tier: Pick<Tier<View, undefined>, "rights" | "channelAt" | "plan">,
  source: Source<View>,
  { arch }: TierOptions,
): Uint8Array {
  const { channel, limits } = source;
  return confiningProgram({
    arch,
    capabilities: tier.rights.capabilities,
    limits,
    supervisor: supervisorAt,
    ...(channel === "complaints" && { complaints: tier.channelAt(source) }),
    ...tier.plan(source),
  });
}

function factsOf({ name, notes, rights, endpoints, hasMounts, ownProcesses, protect }: TierFacts, abi: number) {
  const [http, socks] = endpoints;
  const proxies = http && socks && { http, socks };
  return {
    name,
    filesystem: "confined",
    network: endpoints.length === 0 ? "none" : "proxies",
    ...(proxies && { proxies }),
    notes: [...notes, ...rights.notes],
    placesCopies: hasMounts,
    guards: !hasMounts,
    ownProcesses,
    mayShareGroup: abi >= neededAbi,
    protect,
  } satisfies Partial<Backend>;
}
