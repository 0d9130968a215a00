import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { errnoOf } from "../lib/errors.ts";

/**
 * Who could still write into the pipe on our standard input. A `pipeline` is a process that is no ancestor of ours: it
 * was started beside us to feed us. An `ancestor` is whoever started us and may have left the pipe open unawares.
 */
export type Holder = { kind: "pipeline" | "ancestor"; name: string; pid: number } | { kind: "unseen" };

type Process = { pid: number; parent: number; group: number; name: string; isGone: boolean };

/** Linux tells by /proc; elsewhere, and where other processes are hidden from us, nobody is seen. */
export function findHolder(): Holder {
  const pipe = linkOf("self/fd/0");
  const own = processOf(process.pid);
  if (pipe === undefined || own === undefined) return { kind: "unseen" };

  const ancestors = ancestorsOf(own);
  const isAncestor = (pid: number) => ancestors.some((ancestor) => ancestor.pid === pid);
  const others = pidsOf(contentsOf("") ?? []).filter((pid) => pid !== own.pid);
  const writers = others.filter((pid) => isWriter(pid, pipe)).flatMap((pid) => processOf(pid) ?? []);
  const feeders = writers.filter(({ pid }) => !isAncestor(pid));
  const feeder = closest(feeders, ancestors) ?? feeders[0];
  if (feeder !== undefined) return { kind: "pipeline", name: feeder.name, pid: feeder.pid };
  const [starter] = writers;
  if (starter !== undefined) return { kind: "ancestor", name: starter.name, pid: starter.pid };

  const hidden = closest(hiddenPartners(others, own), ancestors.filter(isVisible));
  return hidden === undefined ? { kind: "unseen" } : { kind: "pipeline", name: hidden.name, pid: hidden.pid };
}

/** Whoever runs in our own shell line: the best name for all of it is `npm`, rather than a test runner's worker. */
function closest(processes: readonly Process[], ancestors: readonly Process[]): Process | undefined {
  return ancestors.flatMap(({ pid }) => processes.filter(({ parent }) => parent === pid))[0];
}

/** The nearest first. */
function ancestorsOf(own: Process): Process[] {
  const ancestors: Process[] = [];
  for (let next = processOf(own.parent); next !== undefined; next = processOf(next.parent)) ancestors.push(next);
  return ancestors;
}

/** A pipe's name (`pipe:[4711]`, or a FIFO's path) is the same behind each descriptor of it. */
function isWriter(pid: number, pipe: string): boolean {
  const descriptors = contentsOf(`${pid}/fd`) ?? [];
  return descriptors.some((fd) => linkOf(`${pid}/fd/${fd}`) === pipe && isOpenForWriting(pid, fd));
}

function isOpenForWriting(pid: number, fd: string): boolean {
  const flags = /^flags:\s*([0-7]+)/m.exec(textOf(`${pid}/fdinfo/${fd}`) ?? "")?.[1];
  // The two lowest bits: 0 reads, 1 writes, 2 does both.
  return flags !== undefined && (Number.parseInt(flags, 8) & 3) !== 0;
}

/**
 * When nobody is seen to hold the pipe although it is open, it is somebody whose descriptors are not ours to look at.
 * In `sudo journalctl | koda exec …` that is a process of our own group, started by a shell that is ours to look at.
 */
function hiddenPartners(pids: readonly number[], own: Process): Process[] {
  const group = pids.flatMap((pid) => processOf(pid) ?? []).filter((other) => other.group === own.group);
  return group.filter((other) => !other.isGone && !isVisible(other));
}

function isVisible({ pid }: Process): boolean {
  return contentsOf(`${pid}/fd`) !== undefined;
}

function processOf(pid: number): Process | undefined {
  const stat = textOf(`${pid}/stat`);
  if (stat === undefined) return undefined;
  // "pid (name) state parent group …": the name may itself hold spaces and parentheses.
  const end = stat.lastIndexOf(")");
  const [state, parent, group] = stat.slice(end + 2).split(" ");
  const name = stat.slice(stat.indexOf("(") + 1, end).replace(/\p{Cc}/gu, "?");
  return { pid, parent: Number(parent), group: Number(group), name, isGone: state === "Z" || state === "X" };
}

function pidsOf(names: readonly string[]): number[] {
  return names.filter((name) => /^\d+$/.test(name)).map(Number);
}

const contentsOf = (path: string) => unlessRefused(() => readdirSync(`/proc/${path}`));
const linkOf = (path: string) => unlessRefused(() => readlinkSync(`/proc/${path}`));
const textOf = (path: string) => unlessRefused(() => readFileSync(`/proc/${path}`, "utf8"));

/** Undefined when the system says no: the process is gone meanwhile, it is not ours to look into, or there is no /proc. */
function unlessRefused<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (errnoOf(error) !== undefined) return undefined;
    throw error;
  }
}
