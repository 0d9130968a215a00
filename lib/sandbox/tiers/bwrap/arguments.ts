import { isOpenAtFirst, type Layout, type Mount } from "../../layout/layout.ts";
import type { Capability } from "../../program/steps/capabilities.ts";

const alone = words("--unshare-pid --unshare-ipc --unshare-uts --unshare-net --die-with-parent --cap-drop ALL");

/** Nothing is writable there; terminals and shared memory are new. */
const ofTheKernel = words(
  "--ro-bind /sys /sys --proc /proc --remount-ro /proc --dev /dev --perms 1777 --tmpfs /dev/shm --remount-ro /dev",
);

type Circumstances = {
  cwd: string;
  /** The descriptor of the user namespace to take, instead of one with koda's own user alone. */
  user: number | undefined;
  capabilities: readonly Capability[];
};

/** The layout in bubblewrap's words. It carries out its options in their order, and makes the places that it needs. */
export function bwrapArguments({ readonlyTree, mounts }: Layout, { cwd, user, capabilities }: Circumstances): string[] {
  const closed = mounts.filter((mount) => (mount.kind === "cover" ? mount.from === undefined : isOpenAtFirst(mount)));
  return [
    ...(user === undefined ? ["--unshare-user"] : ["--userns", String(user)]),
    ...alone,
    ...capabilities.flatMap((name) => ["--cap-add", `CAP_${name}`]),
    readonlyTree ? "--ro-bind" : "--bind",
    "/",
    "/",
    ...ofTheKernel,
    ...mounts.flatMap(argumentsFor),
    // Only now: until here places were made inside of them.
    ...closed.flatMap(({ at }) => ["--remount-ro", at]),
    "--chdir",
    cwd,
  ];
}

function argumentsFor(mount: Mount): string[] {
  switch (mount.kind) {
    case "tree":
      return [mount.writable || isOpenAtFirst(mount) ? "--bind" : "--ro-bind", mount.from, mount.at];
    case "cover":
      if (mount.from !== undefined) return ["--ro-bind", mount.from, mount.at];
      return ["--perms", mount.inside.length > 0 ? "0755" : "0000", "--tmpfs", mount.at];
    case "sealed":
      // Bubblewrap's mounts have no devices, so this one cannot be opened.
      return ["--ro-bind", "/dev/null", mount.at];
    case "frozen":
      // It may have been removed since it was looked at.
      return ["--ro-bind-try", mount.at, mount.at];
    default:
      mount satisfies never;
      return [];
  }
}

function words(text: string): string[] {
  return text.split(" ");
}
