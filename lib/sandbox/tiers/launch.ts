import { openPipe } from "../../shell/libc.ts";
import type { Command, Confined, Manner } from "../backend.ts";
import { standInsFor } from "../layout/standin.ts";
import type { Programs } from "../program/programs.ts";
import type { Prepared } from "./prepared.ts";
import type { Source, Tier } from "./tier.ts";
import { Unavailable } from "./unavailable.ts";

export type Session<View, Resources extends Disposable | undefined> = {
  tier: Tier<View, Resources>;
  programs: Programs<Source<View>>;
  resources: Resources;
};

type LaunchOptions<View> = { prepared: Prepared<View>; socket: number; manner: Manner };

/** A command as it has to be spawned; `socket` is that of its supervisor. */
export function launch<View, Resources extends Disposable | undefined>(
  { tier, programs, resources }: Session<View, Resources>,
  command: Command,
  { prepared, socket, manner }: LaunchOptions<View>,
): Confined {
  using taken = new DisposableStack();
  if (tier.hasMounts) taken.use(standInsFor(prepared.policy));
  const source = sourceFor(tier, prepared, manner);
  const program = programs.of(source);
  const { argv, descriptors } = tier.launch({ command, program, source, resources, held: taken });
  // Last: whoever gets the command closes it.
  const pipe = source.channel && openPipe();
  if (source.channel !== undefined && pipe === undefined) throw new Unavailable("no pipe could be made");
  const held = taken.move();
  return {
    ...command,
    argv: [...argv, ...command.argv],
    descriptors: [socket, ...descriptors, ...(pipe ? [pipe.write] : [])],
    ...(pipe && source.channel && { [source.channel]: pipe }),
    release: () => held.dispose(),
  };
}

/** All that its program depends on. */
export function sourceFor<View>(
  { channelFor }: Pick<Tier<View, undefined>, "channelFor">,
  { policy: { limits, network }, look }: Prepared<View>,
  manner: Manner,
): Source<View> {
  return { view: look(), channel: channelFor(manner), limits, network };
}
