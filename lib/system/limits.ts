import { readFileSync } from "node:fs";
import { unlessRefused } from "../errors.ts";
import { libc } from "./libc.ts";

/** The soft limit that nearly every system begins with. */
const usualOpenFiles = 1024;

/**
 * The soft limit of open files as koda was given it. Bun raises its own to the hard limit before any code of ours
 * runs, and with a limit of a million old programs that close every possible file take seconds to start.
 */
export function originalOpenFiles(): number | undefined {
  return process.platform === "linux" ? softOpenFiles(limitsOf(process.ppid) ?? "") : undefined;
}

/** Out of the text of /proc/PID/limits. */
export function softOpenFiles(limits: string): number {
  const soft = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1]);
  return Number.isSafeInteger(soft) && soft > 0 ? soft : usualOpenFiles;
}

/** A process's soft limit of real-time CPU time, in microseconds; undefined without one, or where it is not shown. */
export function realTimeLimit(pid: number): bigint | undefined {
  const [, soft] = /^Max realtime timeout\s+(\d+)/m.exec(limitsOf(pid) ?? "") ?? [];
  return soft === undefined ? undefined : BigInt(soft);
}

function limitsOf(pid: number): string | undefined {
  return unlessRefused(() => readFileSync(`/proc/${pid}/limits`, "latin1"));
}

/** RLIMIT_NOFILE and RLIMIT_RTTIME. */
const resources = { openFiles: 7, realTime: 15 } as const;

type SoftLimits = Partial<Record<keyof typeof resources, number | bigint | undefined>>;

/**
 * Runs `spawn` with other soft limits, which what it starts inherits. Setting them on the child afterwards would race
 * with the child's first calls. A limit above the hard one is left as it is.
 */
export function withSoftLimits<T>(limits: SoftLimits, spawn: () => T): T {
  const changed: [resource: number, before: BigUint64Array][] = [];
  for (const name of ["openFiles", "realTime"] as const) {
    const [soft, before] = [limits[name], new BigUint64Array(2)];
    if (soft === undefined || libc()?.prlimit(0, resources[name], null, before) !== 0) continue;
    const wanted = new BigUint64Array([BigInt(soft), before[1] ?? 0n]);
    if (libc()?.prlimit(0, resources[name], wanted, null) === 0) changed.push([resources[name], before]);
  }
  try {
    return spawn();
  } finally {
    for (const [resource, before] of changed) libc()?.prlimit(0, resource, before, null);
  }
}
