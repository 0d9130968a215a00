import { readdirSync, readFileSync } from "node:fs";
import { errnoOf } from "../errors.ts";
import { becomeSubreaper } from "./libc.ts";

/**
 * The variable that every command carries. It is how processes are found again that left their group and whose
 * parents are gone: nothing else about them tells where they came from.
 */
export const markVariable = "KODA_CALL";

export type Process = { pid: number; parent: number; group: number; session: number };

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
export function marked(prefix: string): Process[] {
  // What is found here is killed. Anything less than a family's name could fit processes that are none of ours.
  if (!familyForm.test(prefix)) throw new TypeError(`"${prefix}" is no mark of a command`);
  return (livingProcesses() ?? []).filter(({ pid }) => markOf(pid)?.startsWith(prefix));
}

/**
 * What a command started and then stripped of its mark (`env -i`), as far as this process adopts orphans. Every
 * command begins a session of its own and none can come back to ours, so whatever lives below us in another session
 * was started by one.
 */
export function unmarked(): Process[] {
  if (!subreaper) return [];
  const all = livingProcesses() ?? [];
  const own = all.find(({ pid }) => pid === process.pid);
  if (own === undefined) return [];
  const strangers = descendants(all, own.pid).filter(({ session }) => session !== own.session);
  return strangers.filter(({ pid }) => markOf(pid) === undefined);
}

/** Undefined where that cannot be seen. */
export function hasLivingMember(group: number): boolean | undefined {
  return livingProcesses()?.some((process) => process.group === group);
}

/** False only where it is certain: an adopting process without children has nothing below it. */
export function mayHaveChildren(): boolean {
  if (!subreaper) return true;
  const children = readIfThere(`/proc/self/task/${process.pid}/children`);
  return children === undefined || children.length > 0;
}

function descendants(all: readonly Process[], root: number): Process[] {
  const found: Process[] = [];
  const parents = [root];
  for (const parent of parents) {
    const children = all.filter((process) => process.parent === parent);
    found.push(...children);
    parents.push(...children.map(({ pid }) => pid));
  }
  return found;
}

/** Undefined where there is no /proc. */
function livingProcesses(): Process[] | undefined {
  const names = unlessRefused(() => readdirSync("/proc"));
  return names?.flatMap((name) => (/^\d+$/.test(name) ? (readProcess(Number(name)) ?? []) : []));
}

function readProcess(pid: number): Process | undefined {
  const stat = readIfThere(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // "pid (name) state parent group session …": the name may itself hold spaces and parentheses.
  const [state, parent, group, session] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  // The dead that nobody has taken notice of yet, some containers' init never does.
  if (state === "Z" || state === "X") return undefined;
  return { pid, parent: Number(parent), group: Number(group), session: Number(session) };
}

function markOf(pid: number): string | undefined {
  const start = `${markVariable}=`;
  const entries = readIfThere(`/proc/${pid}/environ`)?.split("\0");
  return entries?.find((entry) => entry.startsWith(start))?.slice(start.length);
}

function readIfThere(path: string): string | undefined {
  return unlessRefused(() => readFileSync(path, "latin1"));
}

/**
 * Undefined when the system says no: the process is gone meanwhile, or is not ours to look into. Looking for what is
 * to be killed never fails as a whole, or nothing would be killed.
 */
function unlessRefused<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}
