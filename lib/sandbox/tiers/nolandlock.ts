import { release } from "node:os";
import { isOlderThan } from "../kernel.ts";
import { Unavailable } from "./unavailable.ts";

const firstWithLandlock = [5, 13] as const;

/** User 0 could change the machine through /proc if Landlock did not prevent it. */
export function requireLandlockAsRoot(abi: number): void {
  if (abi === 0 && process.getuid?.() === 0) throw noLandlock();
}

/** The reason why there is no Landlock. */
export function noLandlock(kernel: string = release()): Unavailable {
  if (isOlderThan(firstWithLandlock, kernel))
    return new Unavailable(`Linux ${kernel} has no Landlock`, "use Linux 6.12 or later");
  return new Unavailable(
    "Landlock is switched off, or a seccomp filter forbids it",
    "boot with landlock in the list lsm= (see /sys/kernel/security/lsm), and let a container's seccomp profile allow the landlock calls",
  );
}
