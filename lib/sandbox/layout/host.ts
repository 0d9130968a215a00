import { lstatSync, readFileSync } from "node:fs";
import { unlessRefused } from "../../errors.ts";
import { isBelow } from "../../files/path.ts";
import { isInKernelTree } from "../policy/reach.ts";
import type { Kind } from "./layout.ts";

/** The kind of file at a path of the host, a symlink not followed. */
export function look(path: string): Kind | undefined {
  const stats = unlessRefused(() => lstatSync(path, { throwIfNoEntry: false }));
  if (stats === undefined) return undefined;
  if (stats.isDirectory()) return "directory";
  return stats.isSymbolicLink() ? "link" : "file";
}

/** File systems through which the kernel itself is talked to. */
const kernels = new Set(
  "proc sysfs cgroup cgroup2 debugfs tracefs securityfs configfs bpf efivarfs pstore selinuxfs fusectl binfmt_misc devtmpfs devpts mqueue hugetlbfs".split(
    " ",
  ),
);

/** Their mount points; as user 0 a command could change the machine through one that lies in the project. */
export function kernelMounts(): string[] {
  return readMounts().flatMap(({ place, type }) => (kernels.has(type) ? [place] : []));
}

/**
 * Directories in which a daemon of the machine mounts what is looked up (autofs): it asks the network for any name that
 * it is given. `mounted` is what lies there already.
 */
type Automounts = { places: readonly string[]; mounted: readonly string[] };

export function automountsIn(mounts: readonly MountPoint[] = readMounts()): Automounts {
  // The last mount at a place is the one that is seen there.
  const seen = new Map(mounts.map(({ place, type }) => [place, type]));
  const ofType = (isAutomount: boolean) =>
    [...seen].flatMap(([place, type]) => ((type === "autofs") === isAutomount ? [place] : []));
  // systemd has one in /proc, of which commands have their own.
  const places = ofType(true).filter((place) => !isInKernelTree(place));
  return { places, mounted: ofType(false).filter((path) => places.some((place) => isBelow(path, place))) };
}

type MountPoint = { place: string; type: string };

function readMounts(): MountPoint[] {
  const table = unlessRefused(() => readFileSync("/proc/self/mountinfo", "latin1")) ?? "";
  return table.split("\n").flatMap((line) => {
    // "id parent major:minor root PLACE options [fields…] - TYPE source options"
    const [before = "", after = ""] = line.split(" - ");
    const place = before.split(" ")[4];
    return place === undefined ? [] : [{ place: unescaped(place), type: after.split(" ")[0] ?? "" }];
  });
}

/** Spaces and their like are written as octal numbers. */
function unescaped(place: string): string {
  const bytes = place.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8)));
  return Buffer.from(bytes, "latin1").toString("utf8");
}
