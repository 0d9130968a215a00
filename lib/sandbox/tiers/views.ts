import { isInFolded } from "../../files/path.ts";
import { kernelMounts, look } from "../layout/host.ts";
import { type Layout, layoutOf, waysToHidden } from "../layout/layout.ts";
import type { Policy } from "../policy/policy.ts";
import { everythingExcept } from "./landlock/except.ts";
import type { Tier } from "./tier.ts";
import { Unavailable } from "./unavailable.ts";

/** More rules than this would cost every command a millisecond; mounts hide by themselves then. */
const mostRules = 200;

type ViewOptions = {
  /** Landlock is there to hide as well. */
  hasLandlock: boolean;
  /** As `OwnerRights` has it. */
  cover: string | undefined;
  /** The tier mounts what a symlink leads to that was put in the place of a directory. */
  followsLinks: boolean;
};

/** The views of a tier with mounts. The first policy is the workspace's. */
export function viewsIn({ hasLandlock, cover, followsLinks }: ViewOptions): Pick<Tier<Layout>, "viewer"> {
  const mounts = kernelMounts();
  let fixed: readonly string[] | undefined;
  return {
    viewer(policy: Policy) {
      const ways = waysToHidden(policy, look);
      const draw = () => ({
        ...layoutOf(policy, { look, kernelMounts: mounts, ways, cover }),
        ...(hasLandlock && readableIn(policy)),
      });
      if (!followsLinks) return draw;
      const others = fixed;
      fixed ??= writtenIn(draw());
      return others === undefined ? draw : () => refusingOthers(draw(), others);
    },
  };
}

/** Hidden paths in a writable root are left to mounts: of a tree that can be written Landlock can except nothing. */
function readableIn({ hide, show, copies, root, write }: Policy): Pick<Layout, "readable"> {
  const isWritten = (path: string) => isInFolded(path, write);
  const shown = [...show, ...copies.map(({ at }) => at), root, ...write];
  try {
    return { readable: everythingExcept({ hide: hide.filter((path) => !isWritten(path)), show: shown }, mostRules) };
  } catch (error) {
    if (error instanceof Unavailable) return {};
    throw error;
  }
}

/** The directories that are mounted to be written: no command of the workspace can move them. */
function writtenIn({ mounts }: Layout): readonly string[] {
  return mounts.flatMap((mount) => (mount.kind === "tree" && mount.writable ? [mount.from] : []));
}

function refusingOthers(layout: Layout, fixed: readonly string[]): Layout {
  const other = writtenIn(layout).find((path) => !fixed.includes(path));
  if (other === undefined) return layout;
  throw new Unavailable(`other commands may move "${other}", and put a symlink there that would be followed`);
}
