import { isBelow } from "../../files/path.ts";
import { type Claim, noEffect } from "../claim.ts";
import { destructive, remote, together, unknownWrite } from "./claims.ts";
import type { ShellScope } from "./scope.ts";
import { spotsOf, spotName, whySpotOutside, type Spot } from "./spot.ts";
import type { Text } from "./text.ts";

/** A program of which nothing is known writes, most likely where it was started. */
export function unknownProgram(scope: ShellScope): Claim {
  const beyond = scope.cwds?.map((cwd) => whySpotOutside(cwd, scope.around)).find((why) => why !== undefined);
  return beyond === undefined ? unknownWrite : { ...unknownWrite, outside: beyond };
}

/** Making or changing the file, or making something in the directory, that a text names. */
export function writeTo(text: Text, scope: ShellScope): Claim {
  const spots = spotsOf(text, scope);
  return spots === undefined ? unknownWrite : together(spots.map((spot) => writeAt(spot, scope)));
}

export function writeToAll(texts: readonly Text[], scope: ShellScope): Claim {
  return together(texts.map((text) => writeTo(text, scope)));
}

function writeAt(spot: Spot, { around }: ShellScope): Claim {
  if (spot.path === "/dev" || spot.path.startsWith("/dev/") || spot.path === "/proc/sysrq-trigger") {
    const device = writeToDevice(spot);
    if (device !== undefined) return device;
  }
  const outside = whySpotOutside(spot, around);
  return {
    effect: "write",
    writes: spot.exact ? [spot.path] : "unknown",
    ...(outside !== undefined && { outside }),
  };
}

/** Undefined for shared memory, which is a directory of ordinary files. */
function writeToDevice(spot: Spot): Claim | undefined {
  if (/^\/dev\/(null|zero|full|u?random|stdin|stdout|stderr|tty|fd\/\d+)$/.test(spot.path)) return noEffect;
  if (/^\/dev\/(tcp|udp)(\/|$)/.test(spot.path)) return remote;
  if (/^\/dev\/shm(\/|$)/.test(spot.path)) return undefined;
  return destructive(`writing to the device ${spotName(spot)}`);
}

/** Deleting what a text names, or moving it away. */
export function erase(text: Text, { whole }: { whole: boolean }, scope: ShellScope): Claim {
  const spots = spotsOf(text, scope);
  if (spots !== undefined) return together(spots.map((spot) => eraseAt(spot, whole, scope)));
  // `rm -rf "$X/"` with an X that turns out empty: whatever is deleted whole has to be known first.
  return whole ? { ...unknownWrite, outside: "a directory to delete that is not known beforehand" } : unknownWrite;
}

function eraseAt(spot: Spot, whole: boolean, scope: ShellScope): Claim {
  const { around } = scope;
  const roots = [around.root, ...around.write];
  const kept = [...roots, around.home].find((root) =>
    spot.exact ? isBelow(root, spot.path) : root !== spot.path && root.startsWith(spot.prefix),
  );
  const write = writeAt(spot, scope);
  if (kept !== undefined) return together([destructive(`deleting ${spotName(spot)}`), write]);
  // Its history is in no snapshot.
  const isRepository = whole && /\/\.git(\/?\*)?$/.test(spotName(spot));
  return isRepository ? together([destructive(`deleting ${spotName(spot)}`), write]) : write;
}
