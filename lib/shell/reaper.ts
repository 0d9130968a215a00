import { readFileSync } from "node:fs";
import { unlessRefused } from "../errors.ts";
import { becomeSubreaper } from "../system/libc.ts";
import { livingProcesses, type ProcessStat } from "../system/procstat.ts";
import { environmentMark, limitMark } from "./marks.ts";

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
    // A mark in the environment alone belongs to a program that the user's own settings run.
    return outside.filter(({ pid }) => limitMark(pid) !== undefined || environmentMark(pid) === undefined);
  }

  /** False only where it is certain: an adopting process without children has nothing below it. */
  mayHaveChildren(): boolean {
    if (!this.adopts) return true;
    const children = unlessRefused(() => readFileSync(`/proc/self/task/${process.pid}/children`, "latin1"));
    return children === undefined || children.length > 0;
  }
}

function descendants(all: readonly ProcessStat[], root: number): ProcessStat[] {
  const children = Map.groupBy(all, ({ parent }) => parent);
  const below = (pid: number): ProcessStat[] =>
    (children.get(pid) ?? []).flatMap((child) => [child, ...below(child.pid)]);
  return below(root);
}
