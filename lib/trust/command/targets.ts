import { isBelow } from "../../files/path.ts";
import type { Claim } from "../claim.ts";
import { destructive, nothing, remote, together, unknownWrite } from "./claims.ts";
import type { Scope } from "./scope.ts";
import { locate, nameOf, whyOutside, type Spot } from "./spot.ts";
import type { Text } from "./text.ts";

/** What a program does of which nothing is known: it writes, most likely where it was started. */
export function unknownProgram(scope: Scope): Claim {
  const beyond = scope.cwds?.map((cwd) => whyOutside(cwd, scope.around)).find((why) => why !== undefined);
  return beyond === undefined ? unknownWrite : { ...unknownWrite, outside: beyond };
}

/** Making or changing the file, or making something in the directory, that a text names. */
export function writeTo(text: Text, scope: Scope): Claim {
  const spots = locate(text, scope);
  return spots === undefined ? unknownWrite : together(spots.map((spot) => writeAt(spot, scope)));
}

export function writeToAll(texts: readonly Text[], scope: Scope): Claim {
  return together(texts.map((text) => writeTo(text, scope)));
}

function writeAt(spot: Spot, { around }: Scope): Claim {
  if (spot.path === "/dev" || spot.path.startsWith("/dev/") || spot.path === "/proc/sysrq-trigger") {
    const device = writeToDevice(spot);
    if (device !== undefined) return device;
  }
  const outside = whyOutside(spot, around);
  return {
    effect: "write",
    writes: spot.exact ? [spot.path] : "unknown",
    ...(outside !== undefined && { outside }),
  };
}

/** Undefined for shared memory, which is a directory of ordinary files. */
function writeToDevice(spot: Spot): Claim | undefined {
  if (/^\/dev\/(null|zero|full|u?random|stdin|stdout|stderr|tty|fd\/\d+)$/.test(spot.path)) return nothing;
  if (/^\/dev\/(tcp|udp)(\/|$)/.test(spot.path)) return remote;
  if (/^\/dev\/shm(\/|$)/.test(spot.path)) return undefined;
  return destructive(`writing to the device ${nameOf(spot)}`);
}

/** Deleting what a text names, or moving it away. */
export function erase(text: Text, { whole }: { whole: boolean }, scope: Scope): Claim {
  const spots = locate(text, scope);
  if (spots !== undefined) return together(spots.map((spot) => eraseAt(spot, whole, scope)));
  // `rm -rf "$X/"` with an X that turns out empty: whatever is deleted whole has to be known first.
  return whole ? { ...unknownWrite, outside: "a directory to delete that is not known beforehand" } : unknownWrite;
}

function eraseAt(spot: Spot, whole: boolean, scope: Scope): Claim {
  const { around } = scope;
  const roots = [around.root, ...around.write];
  const kept = [...roots, around.home].find((root) =>
    spot.exact ? isBelow(root, spot.path) : root !== spot.path && root.startsWith(spot.prefix),
  );
  const write = writeAt(spot, scope);
  if (kept !== undefined) return together([destructive(`deleting ${nameOf(spot)}`), write]);
  // Its history is in no snapshot.
  const isRepository = whole && /\/\.git(\/?\*)?$/.test(nameOf(spot));
  return isRepository ? together([destructive(`deleting ${nameOf(spot)}`), write]) : write;
}
