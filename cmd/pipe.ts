import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { unlessRefused } from "../lib/errors.ts";
import { allPids, statOf, type ProcessStat } from "../lib/system/procstat.ts";

/**
 * Who could still write into the pipe on our standard input. A `pipeline` is a process that is no ancestor of ours: it
 * was started beside us to feed us. An `ancestor` is whoever started us and may have left the pipe open unawares.
 */
export type Holder = { kind: "pipeline" | "ancestor"; name: string; pid: number } | { kind: "unseen" };

/** Linux tells by /proc; elsewhere, and where other processes are hidden from us, nobody is seen. */
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

/** Whoever runs in our own shell line: the best name for all of it is `npm`, rather than a test runner's worker. */
function closest(processes: readonly ProcessStat[], ancestors: readonly ProcessStat[]): ProcessStat | undefined {
  return ancestors.flatMap(({ pid }) => processes.filter(({ parent }) => parent === pid))[0];
}

/** The nearest first. */
export function ancestorsOf(own: ProcessStat): ProcessStat[] {
  const ancestors: ProcessStat[] = [];
  for (let next = statOf(own.parent); next !== undefined; next = statOf(next.parent)) ancestors.push(next);
  return ancestors;
}

/** A file that a process holds open. A pipe's link (`pipe:[4711]`, or a FIFO's path) is the same behind each of them. */
export type Descriptor = { path: string; link: string | undefined };

/** None of a process that is not ours to look into. */
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
  // The two lowest bits: 0 reads, 1 writes, 2 does both.
  return (Number.parseInt(flags, 8) & 3) !== (use === "reading" ? 1 : 0);
}

/**
 * When nobody is seen to hold the pipe although it is open, it is somebody whose descriptors are not ours to look at.
 * In `sudo journalctl | koda exec …` that is a process of our own group, started by a shell that is ours to look at.
 */
function hiddenPartners(pids: readonly number[], own: ProcessStat): ProcessStat[] {
  const group = pids.flatMap((pid) => statOf(pid) ?? []).filter((other) => other.group === own.group);
  return group.filter((other) => !other.isDead && !isVisible(other));
}

function isVisible({ pid }: ProcessStat): boolean {
  return contentsOf(`${pid}/fd`) !== undefined;
}

/** A program may call itself anything, and this is for a message. */
function shown({ pid, name }: ProcessStat): { name: string; pid: number } {
  return { name: name.replace(/\p{Cc}/gu, "?"), pid };
}

const contentsOf = (path: string) => unlessRefused(() => readdirSync(`/proc/${path}`));
export const linkOf = (path: string) => unlessRefused(() => readlinkSync(`/proc/${path}`));
