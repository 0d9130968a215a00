import { libc } from "./libc.ts";

const PR_SET_PDEATHSIG = 1;
const SIGTERM = 15;

/** Names the process without which a koda that it has started has no purpose. */
export const parentVariable = "KODA_PARENT";

type Env = Record<string, string | undefined>;

/**
 * Lets this process be terminated when the one that started it and is named in the environment ends, however it ends:
 * the kernel sends the signal, so there is nothing to poll. False when that has ended already. Elsewhere than on Linux
 * such a process notices when it writes. To be called when signals are already handled.
 */
export function followParent(env: Env): boolean {
  const parent = env[parentVariable];
  if (parent === undefined) return true;
  // Nothing that this process starts is a child of that one.
  delete env[parentVariable];
  const isFollowing = libc()?.prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) === 0;
  return !isFollowing || String(process.ppid) === parent;
}
