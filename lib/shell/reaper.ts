import { sendSignal } from "../system/kill.ts";
import { becomeSubreaper, reap } from "../system/libc.ts";
import { childrenOf, livingProcesses, type ProcessStat, statOf } from "../system/procstat.ts";
import { isUsers } from "./marks.ts";

/**
 * Makes this process the parent of every orphan below it, so that none gets out of sight: for a program whose children
 * are all its own. There is one in a process, and all of its shells share it.
 */
export class Reaper {
  /** False where the system has no such thing: it is Linux's, and needs the C library. */
  readonly adopts = becomeSubreaper();
  readonly #shells = new Set<object>();

  /** From its first command until it is stopped, a shell may have started a process that has no mark. */
  enter(shell: object): void {
    this.#shells.add(shell);
  }

  leave(shell: object): void {
    this.#shells.delete(shell);
  }

  /**
   * Processes that cannot be assigned to a shell; none as long as any shell may have started them. A command begins a
   * session of its own and can never come back to koda's, so what lives below koda in another session was started by
   * one. Where a command shares koda's session, nothing else may be started beside it: then it is all that lives below.
   */
  unclaimed({ sharesSession }: { sharesSession: boolean }): ProcessStat[] {
    if (!this.adopts || this.#shells.size > 0) return [];
    const all = livingProcesses() ?? [];
    const own = all.find(({ pid }) => pid === process.pid);
    if (own === undefined) return [];
    const outside = descendants(all, own.pid).filter(({ session }) => sharesSession || session !== own.session);
    return outside.filter((process) => !isUsers(process));
  }

  /** False only where it is certain: an adopting process without children has nothing below it. */
  mayHaveChildren(): boolean {
    return !this.adopts || (childrenOf(process.pid)?.length ?? 1) > 0;
  }

  /**
   * Ends processes that fork and end all the time, as long as no shell may have started them. Looks at all processes
   * miss them, but each becomes koda's child, and the newest gets a KILL until one gets it before it has forked.
   * `awaited` are about to end by themselves.
   */
  killChains(awaited: ReadonlySet<number>): void {
    if (!this.adopts || this.#shells.size > 0) return;
    const koda = statOf(process.pid);
    const isStray = (process: ProcessStat) =>
      process.session !== koda?.session && !awaited.has(process.pid) && !isUsers(process);
    const first = new Set(childrenOf(process.pid));
    const left = new Set([...first].filter((pid) => !isAliveAnd(isStray, pid)));
    const deadline = performance.now() + chainsMs;
    for (let quiet = 0; quiet < looks && performance.now() < deadline; quiet++) {
      const found = childrenOf(process.pid)?.filter((pid) => !left.has(pid)) ?? [];
      if (found.length > 0) quiet = 0;
      for (const pid of found.toReversed()) {
        const isEnding = endLine(pid, isStray);
        // Bun may wait for one of the first, and fails when its status is taken; what came since was adopted.
        if (isEnding && !first.has(pid)) reap(pid);
        else if (!isAliveAnd(isStray, pid)) left.add(pid);
      }
    }
  }
}

/** The kernel lists children while they come and go. */
const looks = 5;

/** A process that no KILL ends hangs in the kernel. */
const chainsMs = 2_000;

/** A child that koda has adopted, with what it has begun. False when it is to live. */
function endLine(pid: number, isStray: (process: ProcessStat) => boolean): boolean {
  // None of them forks from here on, and there is time to look at them.
  const line = stopped(pid);
  const found = statOf(pid);
  const mayEnd = found === undefined || found.isDead || isStray(found);
  for (const one of line) sendSignal(one, mayEnd ? "SIGKILL" : "SIGCONT");
  return mayEnd;
}

function stopped(pid: number): number[] {
  if (!sendSignal(pid, "SIGSTOP")) return [];
  return [pid, ...(childrenOf(pid) ?? []).flatMap(stopped)];
}

function isAliveAnd(passes: (process: ProcessStat) => boolean, pid: number): boolean {
  const found = statOf(pid);
  return found !== undefined && !found.isDead && passes(found);
}

function descendants(all: readonly ProcessStat[], root: number): ProcessStat[] {
  const children = Map.groupBy(all, ({ parent }) => parent);
  const below = (pid: number): ProcessStat[] =>
    (children.get(pid) ?? []).flatMap((child) => [child, ...below(child.pid)]);
  return below(root);
}
