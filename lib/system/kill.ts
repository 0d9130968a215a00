import { errnoOf } from "../errors.ts";
import { reap } from "./libc.ts";
import { hasLivingMember } from "./procstat.ts";

/** How long a command may clean up after it was told to end. */
export const graceMs = 2_000;

/** A process that KILL does not end hangs in the kernel; waiting for it longer would hang koda too. */
const giveUpMs = 2_000;

/** Finds what is still to be ended, now: a pid, or the negative id of a group. */
export type Quarry = () => readonly number[];

/** TERM, time to clean up, KILL. True when nothing is left; quick when there was nothing to begin with. */
export async function takeDown(find: Quarry): Promise<boolean> {
  const found = new Set(find());
  for (const pid of found) send(pid, "SIGTERM");
  // A stopped process hears of that only when it continues.
  for (const pid of found) send(pid, "SIGCONT");
  if (!(await isGone(find, graceMs))) await isGone(killed, giveUpMs);

  for (const pid of found) if (pid > 0) reap(pid);
  return find().length === 0;

  /** Whoever was forked since the last look gets a KILL of its own. */
  function killed(): readonly number[] {
    const left = find();
    for (const pid of left) {
      send(pid, "SIGKILL");
      found.add(pid);
    }
    return left;
  }
}

/** KILL without waiting. A few rounds, for what was being forked while we looked. */
export function killNow(find: Quarry): void {
  for (let round = 0; round < 5; round++) {
    const found = find();
    if (found.length === 0) return;
    for (const pid of found) send(pid, "SIGKILL");
    Bun.sleepSync(1);
  }
}

/** Waits until nothing is left, but not for longer than that. */
export async function isGone(find: Quarry, limitMs: number): Promise<boolean> {
  const deadline = performance.now() + limitMs;
  for (let pauseMs = 1; find().length > 0; pauseMs = Math.min(pauseMs * 2, 100)) {
    if (performance.now() >= deadline) return false;
    await Bun.sleep(pauseMs);
  }
  return true;
}

/** Only for a group whose leader's own end is known already: its status would be taken from whoever waits for it. */
export function isGroupAlive(group: number): boolean {
  reap(-group);
  // The dead count as members until their parent takes notice, which that of an orphan may never do.
  if (!send(-group, 0)) return false;
  const isAlive = hasLivingMember(group) ?? true;
  // Who ended between the two looks is taken notice of too: nobody will look again.
  if (!isAlive) reap(-group);
  return isAlive;
}

/** False when there is nobody to hear it, or nobody that we may signal. */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === "ESRCH" || errno === "EPERM") return false;
    throw error;
  }
}
