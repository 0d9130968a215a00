import { canReplaceTmp, type Layout, layoutOf, waysToHidden } from "../layout/layout.ts";
import { kernelMounts, look } from "../layout/scenery.ts";
import type { Policy } from "../policy/policy.ts";

/** What commands see of the file system in a tier with mounts. It is drawn anew for each command: files come and go. */
export type View = {
  /** They find the run's own directory as `/tmp`. */
  replacesTmp: boolean;
  layout(): Layout;
  /** As `Backend` has it. */
  protect(paths: readonly string[]): void;
};

export function viewOf(policy: Policy, cover: string | undefined): View {
  const mounts = kernelMounts();
  const ways = waysToHidden(policy, look);
  let protect: readonly string[] = [];
  return {
    replacesTmp: canReplaceTmp(policy, look),
    layout: () => layoutOf(policy, { look, protect, kernelMounts: mounts, ways, cover }),
    protect: (paths) => void (protect = paths),
  };
}
