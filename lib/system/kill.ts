import { errnoOf } from "../errors.ts";
import { reap } from "./libc.ts";
import { hasLivingMember } from "./procstat.ts";

/** A process may clean up for as long as this after a TERM. */
export const graceMs = 2_000;

/** A process that KILL does not end hangs in the kernel; waiting for it longer would hang koda too. */
const giveUpMs = 2_000;

/** Finds what is still to be ended, now: a pid, or the negative id of a group. */
type FindTargets = () => readonly number[];

/** TERM, time to clean up, KILL. True when nothing is left; quick when there was nothing to begin with. */
export async function terminate(find: FindTargets): Promise<boolean> {
  const found = new Set(find());
  for (const pid of found) sendSignal(pid, "SIGTERM");
  // A stopped process gets it only when it continues.
  for (const pid of found) sendSignal(pid, "SIGCONT");
  if (!(await waitUntilGone(find, graceMs))) await waitUntilGone(kill, giveUpMs);

  for (const pid of found) if (pid > 0) reap(pid);
  return find().length === 0;

  /** A process that was forked since the last look gets a KILL of its own. */
  function kill(): readonly number[] {
    const left = find();
    for (const pid of left) {
      sendSignal(pid, "SIGKILL");
      found.add(pid);
    }
    return left;
  }
}

/** KILL without waiting. A few rounds, for what was being forked meanwhile. */
export function killNow(find: FindTargets): void {
  for (let round = 0; round < 5; round++) {
    const found = find();
    if (found.length === 0) return;
    for (const pid of found) sendSignal(pid, "SIGKILL");
    Bun.sleepSync(1);
  }
}

/** Resolves to false when something is still there after that time. */
export async function waitUntilGone(find: FindTargets, limitMs: number): Promise<boolean> {
  const deadline = performance.now() + limitMs;
  for (let pauseMs = 1; find().length > 0; pauseMs = Math.min(pauseMs * 2, 100)) {
    if (performance.now() >= deadline) return false;
    await Bun.sleep(pauseMs);
  }
  return true;
}

/** Only for a group whose leader's exit is known already: its status would be taken from the one that waits for it. */
export function isGroupAlive(group: number): boolean {
  reap(-group);
  // A zombie counts as a member until its parent waits for it, which an orphan's may never do.
  if (!sendSignal(-group, 0)) return false;
  const isAlive = hasLivingMember(group) ?? true;
  // A member may have ended between the two looks, and nothing reaps it later.
  if (!isAlive) reap(-group);
  return isAlive;
}

/** False when there is no such process, or none that koda may signal. */
export function sendSignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === "ESRCH" || errno === "EPERM") return false;
    throw error;
  }
}
