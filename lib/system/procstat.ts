import { readdirSync, readFileSync } from "node:fs";
import { unlessRefused } from "../errors.ts";

/** A process as everyone on Linux may see it. */
export type ProcessStat = {
  pid: number;
  name: string;
  /** It has ended, but its parent has not waited for it yet, which some containers' init never does. */
  isDead: boolean;
  parent: number;
  group: number;
  session: number;
  /** In clock ticks since the machine's start: a later process with the same pid has another one. */
  started: string;
};

/** Undefined when there is no such process, or no /proc. */
export function statOf(pid: number): ProcessStat | undefined {
  const found = readStat(pid);
  if (found === undefined) return undefined;
  const { name, fields } = found;
  const [state, parent, group, session] = fields;
  // The 20th and the 22nd of all fields; these begin with the third.
  const [threads, started] = [fields[20 - 3], fields[22 - 3]];
  if (started === undefined) return undefined;
  return {
    pid,
    name,
    // A process whose first thread alone has ended looks like a zombie and goes on.
    isDead: (state === "Z" || state === "X") && Number(threads) <= 1,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    started,
  };
}

/** The processor time of a process that sleeps, in clock ticks; undefined while it computes or waits for a disk. */
export function sleepingAt(pid: number): number | undefined {
  const { fields = [] } = readStat(pid) ?? {};
  // The 14th and 15th of all fields: user and system time.
  return fields[0] === "S" ? Number(fields[14 - 3]) + Number(fields[15 - 3]) : undefined;
}

/** The bytes that a process has in memory for itself, without the files that are mapped there. */
export function memoryOf(pid: number): number | undefined {
  const text = unlessRefused(() => readFileSync(`/proc/${pid}/status`, "utf8"));
  const [, kibibytes] = /^RssAnon:\s+(\d+) kB$/m.exec(text ?? "") ?? [];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}

/** A process's group, and the group that its terminal is for at this moment. */
type Terminal = { group: number; inFront: number };

/** Undefined when the process has no terminal, or that cannot be seen. */
export function terminalOf(pid: number): Terminal | undefined {
  const [, , group, , terminal, inFront] = readStat(pid)?.fields ?? [];
  if (terminal === undefined || Number(terminal) === 0) return undefined;
  return { group: Number(group), inFront: Number(inFront) };
}

/** Every process that can be seen; undefined where there is no /proc. */
export function allPids(): number[] | undefined {
  const names = unlessRefused(() => readdirSync("/proc"));
  return names?.filter((name) => /^\d+$/.test(name)).map(Number);
}

/** Undefined where there is no /proc. */
export function livingProcesses(): ProcessStat[] | undefined {
  return allPids()?.flatMap((pid) => {
    const found = statOf(pid);
    return found === undefined || found.isDead ? [] : [found];
  });
}

/** Dead ones too. Undefined when there is no such process, or that cannot be seen. */
export function childrenOf(pid: number): number[] | undefined {
  const children = unlessRefused(() => readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1"));
  return children
    ?.split(" ")
    .filter((child) => child !== "")
    .map(Number);
}

/** Undefined where that cannot be seen. */
export function hasLivingMember(group: number): boolean | undefined {
  return livingProcesses()?.some((process) => process.group === group);
}

/** "pid (name) state parent group session …": the name may itself hold spaces and parentheses. */
function readStat(pid: number): { name: string; fields: string[] } | undefined {
  const stat = unlessRefused(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  if (stat === undefined) return undefined;
  const [nameStart, nameEnd] = [stat.indexOf("(") + 1, stat.lastIndexOf(")")];
  return { name: stat.slice(nameStart, nameEnd), fields: stat.slice(nameEnd + 2).split(" ") };
}
