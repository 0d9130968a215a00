import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { unlessRefused } from "../lib/errors.ts";
import { allPids, statOf, type ProcessStat } from "../lib/system/procstat.ts";

/**
 * A process that can still write to the pipe on our stdin. A `pipeline` is not an ancestor of ours: it was started
 * beside us to write to us. An `ancestor` started us and may have left the pipe open by accident.
 */
export type Holder = { kind: "pipeline" | "ancestor"; name: string; pid: number } | { kind: "unseen" };

/** Needs /proc with other processes visible; otherwise the holder is `unseen`. */
export function findHolder(): Holder {
  const pipe = linkOf("self/fd/0");
  const own = statOf(process.pid);
  if (pipe === undefined || own === undefined) return { kind: "unseen" };

  const ancestors = ancestorsOf(own);
  const isAncestor = (pid: number) => ancestors.some((ancestor) => ancestor.pid === pid);
  const others = (allPids() ?? []).filter((pid) => pid !== own.pid);
  const writers = others.filter((pid) => isWriter(pid, pipe)).flatMap((pid) => statOf(pid) ?? []);
  const feeders = writers.filter(({ pid }) => !isAncestor(pid));
  const feeder = closest(feeders, ancestors) ?? feeders[0];
  if (feeder !== undefined) return { kind: "pipeline", ...shown(feeder) };
  const [starter] = writers;
  if (starter !== undefined) return { kind: "ancestor", ...shown(starter) };

  const hidden = closest(hiddenPartners(others, own), ancestors.filter(isVisible));
  return hidden === undefined ? { kind: "unseen" } : { kind: "pipeline", ...shown(hidden) };
}

/** A process started by one of our ancestors: `npm` is a better name for the pipeline than its test runner's worker. */
function closest(processes: readonly ProcessStat[], ancestors: readonly ProcessStat[]): ProcessStat | undefined {
  return ancestors.flatMap(({ pid }) => processes.filter(({ parent }) => parent === pid))[0];
}

/** Nearest first. */
export function ancestorsOf(own: ProcessStat): ProcessStat[] {
  const ancestors: ProcessStat[] = [];
  for (let next = statOf(own.parent); next !== undefined; next = statOf(next.parent)) ancestors.push(next);
  return ancestors;
}

/** An open file of a process. All descriptors of a pipe have the same link (`pipe:[4711]`, or a FIFO's path). */
export type Descriptor = { path: string; link: string | undefined };

/** Empty for a process that we may not inspect. */
export function descriptorsOf(pid: number): Descriptor[] {
  const names = contentsOf(`${pid}/fd`) ?? [];
  return names.map((fd) => ({ path: `/proc/${pid}/fd/${fd}`, link: linkOf(`${pid}/fd/${fd}`) }));
}

function isWriter(pid: number, pipe: string): boolean {
  return descriptorsOf(pid).some((descriptor) => descriptor.link === pipe && isOpenFor(descriptor, "writing"));
}

export function isOpenFor({ path }: Descriptor, use: "reading" | "writing"): boolean {
  const info = unlessRefused(() => readFileSync(path.replace("/fd/", "/fdinfo/"), "utf8"));
  const flags = /^flags:\s*([0-7]+)/m.exec(info ?? "")?.[1];
  if (flags === undefined) return false;
  // The two lowest bits are 0 for reading, 1 for writing, 2 for both.
  return (Number.parseInt(flags, 8) & 3) !== (use === "reading" ? 1 : 0);
}

/**
 * An open pipe without a visible holder is held by a process that we may not inspect. In
 * `sudo journalctl | koda exec …` it is in our process group, and a shell that we may inspect started it.
 */
function hiddenPartners(pids: readonly number[], own: ProcessStat): ProcessStat[] {
  const group = pids.flatMap((pid) => statOf(pid) ?? []).filter((other) => other.group === own.group);
  return group.filter((other) => !other.isDead && !isVisible(other));
}

function isVisible({ pid }: ProcessStat): boolean {
  return contentsOf(`${pid}/fd`) !== undefined;
}

/** For a message: a program may have any name. */
function shown({ pid, name }: ProcessStat): { name: string; pid: number } {
  return { name: name.replace(/\p{Cc}/gu, "?"), pid };
}

const contentsOf = (path: string) => unlessRefused(() => readdirSync(`/proc/${path}`));
export const linkOf = (path: string) => unlessRefused(() => readlinkSync(`/proc/${path}`));
