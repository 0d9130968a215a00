import { readFileSync } from "node:fs";
import { unlessRefused } from "../errors.ts";
import { becomeSubreaper } from "../system/libc.ts";
import { livingProcesses, type ProcessStat, statOf } from "../system/procstat.ts";
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
    return !this.adopts || (childrenOfKoda()?.length ?? 1) > 0;
  }

  /**
   * A process that forks and ends all the time is missed by most looks at all processes, but each of its children
   * becomes koda's. True when one lives, or has come since, as long as no shell may have started it.
   */
  keepsAdopting(): boolean {
    if (!this.adopts || this.#shells.size > 0) return false;
    const own = statOf(process.pid);
    const isStray = (process: ProcessStat) => !process.isDead && process.session !== own?.session && !isUsers(process);
    for (let look = 0; look < looks; look++) {
      const before = childrenOfKoda() ?? [];
      if (before.some((pid) => [statOf(pid)].some((found) => found !== undefined && isStray(found)))) return true;
      if ((childrenOfKoda() ?? []).some((pid) => !before.includes(pid))) return true;
    }
    return false;
  }
}

/** The kernel lists children while they come and go. */
const looks = 5;

/** Dead ones too. Undefined where that cannot be seen. */
function childrenOfKoda(): number[] | undefined {
  const children = unlessRefused(() => readFileSync(`/proc/self/task/${process.pid}/children`, "latin1"));
  return children
    ?.split(" ")
    .filter((pid) => pid !== "")
    .map(Number);
}

function descendants(all: readonly ProcessStat[], root: number): ProcessStat[] {
  const children = Map.groupBy(all, ({ parent }) => parent);
  const below = (pid: number): ProcessStat[] =>
    (children.get(pid) ?? []).flatMap((child) => [child, ...below(child.pid)]);
  return below(root);
}
