import { errnoOf } from "../errors.ts";
import { reap } from "./libc.ts";
import { hasLivingMember } from "./processes.ts";

/** How long a command may clean up after it was told to end. */
export const graceMs = 2_000;

/** A process that KILL does not end hangs in the kernel; waiting for it longer would hang koda too. */
const giveUpMs = 2_000;

/** Finds what is still to be ended, now: a pid, or the negative id of a group. */
export type Quarry = () => readonly number[];

/** TERM, time to clean up, KILL. True when nothing is left; quick when there was nothing to begin with. */
export async function takeDown(find: Quarry): Promise<boolean> {
  const ended = new Set<number>();
  if (signalAll(find, "SIGTERM", ended) === 0) return true;
  // A stopped process hears of TERM only when it continues.
  signalAll(find, "SIGCONT", ended);
  if (await isGone(find, ended, graceMs)) return true;
  signalAll(find, "SIGKILL", ended);
  return isGone(() => killed(find, ended), ended, giveUpMs);
}

/** KILL without waiting. A few rounds, for what was being forked while we looked. */
export function killNow(find: Quarry): void {
  for (let round = 0; round < 5; round++) {
    if (signalAll(find, "SIGKILL", new Set()) === 0) return;
    Bun.sleepSync(1);
  }
}

/** Only for a group whose leader's own end is known already: its status would be taken from whoever waits for it. */
export function isGroupAlive(group: number): boolean {
  reap(-group);
  // The dead count as members until their parent takes notice, which that of an orphan may never do.
  return send(-group, 0) && (hasLivingMember(group) ?? true);
}

/** Whoever was forked since the last KILL gets one of its own. */
function killed(find: Quarry, ended: Set<number>): readonly number[] {
  signalAll(find, "SIGKILL", ended);
  return find();
}

function signalAll(find: Quarry, signal: NodeJS.Signals, ended: Set<number>): number {
  const found = find();
  for (const pid of found) {
    send(pid, signal);
    ended.add(pid);
  }
  return found.length;
}

async function isGone(find: Quarry, ended: ReadonlySet<number>, limitMs: number): Promise<boolean> {
  const deadline = performance.now() + limitMs;
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, 100)) {
    await Bun.sleep(pauseMs);
    const isOver = find().length === 0;
    for (const pid of ended) if (pid > 0) reap(pid);
    if (isOver) return true;
    if (performance.now() >= deadline) return false;
  }
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
