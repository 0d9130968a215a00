import type { Layout } from "../layout/layout.ts";
import { listing, reading, usingDevice, writing, type PathRule, type Restriction } from "../program/steps/landlock.ts";

export const devices = ["null", "zero", "full", "random", "urandom", "tty"].map((name) => `/dev/${name}`);

/**
 * Landlock on top of mounts: nothing that is hidden can be read and nothing but what the layout has writable can be
 * written, however else it may be reached, and nothing outside of the command's own processes can be signalled or
 * traced.
 */
export function accessIn(layout: Layout, abi: number): Restriction {
  const { mounts } = layout;
  const writable = mounts.flatMap((mount) => (mount.kind === "tree" && mount.writable ? [mount.at] : []));
  return {
    abi,
    paths: [
      ...treeRules(layout),
      ...[...writable, "/dev/shm"].map((path): PathRule => ({ path, access: reading | writing })),
      ...[...devices, "/dev/pts/ptmx"].map((path): PathRule => ({ path, access: usingDevice })),
      { path: "/dev/pts", access: usingDevice | listing },
    ],
  };
}

function treeRules({ readable, readonlyTree }: Pick<Layout, "readable" | "readonlyTree">): PathRule[] {
  if (!readonlyTree) return [{ path: "/", access: reading | writing }];
  if (readable === undefined) return [{ path: "/", access: reading }];
  return [{ path: "/", access: listing }, ...readable.map((path) => ({ path, access: reading }))];
}
