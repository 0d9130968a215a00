import { readFileSync } from "node:fs";
import { unlessRefused } from "../errors.ts";
import { becomeSubreaper } from "../system/libc.ts";
import { livingProcesses, type ProcessStat } from "../system/procstat.ts";

/**
 * The variable that every command carries. It is how processes are found again that left their group and whose
 * parents are gone: nothing else about them tells where they came from.
 */
export const markVariable = "KODA_CALL";

let subreaper = false;

/**
 * Makes this process the parent of every orphan below it, so that none can get out of sight: for a program whose
 * children are all its own. True where the system can do that (Linux).
 */
export function adoptOrphans(): boolean {
  subreaper ||= becomeSubreaper();
  return subreaper;
}

/** A name for the commands of one shell. A command's own mark begins with it and ends in a slash as well. */
export const newFamily = (): string => `${crypto.randomUUID()}/`;

const familyForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\//;

/** The living processes whose mark begins so: those of a whole family, or of one command. */
export function marked(prefix: string): ProcessStat[] {
  // What is found here is killed. Anything less than a family's name could fit processes that are none of ours.
  if (!familyForm.test(prefix)) throw new TypeError(`"${prefix}" is no mark of a command`);
  return (livingProcesses() ?? []).filter(({ pid }) => markOf(pid)?.startsWith(prefix));
}

/**
 * What a command started and then stripped of its mark (`env -i`), as far as this process adopts orphans. A command
 * begins a session of its own and can never come back to ours, so whatever lives below us in another session was
 * started by one. Where a command shares our session, nothing else may be started beside it: then it is all that lives
 * below us.
 */
export function unmarked({ sharesSession = false } = {}): ProcessStat[] {
  if (!subreaper) return [];
  const all = livingProcesses() ?? [];
  const own = all.find(({ pid }) => pid === process.pid);
  if (own === undefined) return [];
  const strangers = descendants(all, own.pid).filter(({ session }) => sharesSession || session !== own.session);
  return strangers.filter(({ pid }) => markOf(pid) === undefined);
}

/** The members of a group whom its leader and that one's children only keep, as the outer processes of a namespace do. */
export function keptBy(leader: number): number[] {
  const isKept = ({ pid, parent, group }: ProcessStat) => group === leader && pid !== leader && parent !== leader;
  return (livingProcesses() ?? []).filter(isKept).map(({ pid }) => pid);
}

/** False only where it is certain: an adopting process without children has nothing below it. */
export function mayHaveChildren(): boolean {
  if (!subreaper) return true;
  const children = readIfThere(`/proc/self/task/${process.pid}/children`);
  return children === undefined || children.length > 0;
}

function descendants(all: readonly ProcessStat[], root: number): ProcessStat[] {
  const found: ProcessStat[] = [];
  const parents = [root];
  for (const parent of parents) {
    const children = all.filter((process) => process.parent === parent);
    found.push(...children);
    parents.push(...children.map(({ pid }) => pid));
  }
  return found;
}

function markOf(pid: number): string | undefined {
  const start = `${markVariable}=`;
  const entries = readIfThere(`/proc/${pid}/environ`)?.split("\0");
  return entries?.find((entry) => entry.startsWith(start))?.slice(start.length);
}

/** Looking for what is to be killed never fails as a whole, or nothing would be killed. */
function readIfThere(path: string): string | undefined {
  return unlessRefused(() => readFileSync(path, "latin1"));
}
