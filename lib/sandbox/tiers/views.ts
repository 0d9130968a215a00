import { kernelMounts, look } from "../layout/host.ts";
import { type Layout, layoutOf, waysToHidden } from "../layout/layout.ts";
import type { Policy } from "../policy/policy.ts";
import type { Tier } from "./tier.ts";

/** The views of a tier with mounts; `cover` is as `OwnerRights` has it. */
export function viewsIn(cover: string | undefined): Pick<Tier<Layout, undefined>, "viewer" | "protect"> {
  const mounts = kernelMounts();
  let protect: readonly string[] = [];
  return {
    viewer(policy: Policy) {
      const ways = waysToHidden(policy, look);
      return () => layoutOf(policy, { look, protect, kernelMounts: mounts, ways, cover });
    },
    protect: (paths) => void (protect = paths),
  };
}
