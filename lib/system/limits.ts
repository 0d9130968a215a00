import { readFileSync } from "node:fs";
import { unlessRefused } from "../errors.ts";
import { libc } from "./libc.ts";

/** What nearly every system begins with. */
const usualOpenFiles = 1024;

/**
 * The soft limit of open files as koda was given it. Bun raises its own to the hard limit before any code of ours
 * runs, and with a limit of a million old programs that close every possible file take seconds to start.
 */
export function originalOpenFiles(): number | undefined {
  return process.platform === "linux" ? softOpenFiles(limitsOfParent() ?? "") : undefined;
}

/** Out of the text of /proc/PID/limits. */
export function softOpenFiles(limits: string): number {
  const soft = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1]);
  return Number.isSafeInteger(soft) && soft > 0 ? soft : usualOpenFiles;
}

function limitsOfParent(): string | undefined {
  return unlessRefused(() => readFileSync(`/proc/${process.ppid}/limits`, "utf8"));
}

const RLIMIT_NOFILE = 7;

/**
 * Runs `spawn` with another soft limit of open files, which what it starts then inherits. Setting it on the child
 * afterwards would race with the child's first calls.
 */
export function withOpenFilesLimit<T>(soft: number | undefined, spawn: () => T): T {
  const before = new BigUint64Array(2);
  if (soft === undefined || libc()?.prlimit(0, RLIMIT_NOFILE, null, before) !== 0) return spawn();
  const [current = 0n, hard = 0n] = before;
  if (current <= BigInt(soft)) return spawn();

  libc()?.prlimit(0, RLIMIT_NOFILE, new BigUint64Array([BigInt(soft), hard]), null);
  try {
    return spawn();
  } finally {
    libc()?.prlimit(0, RLIMIT_NOFILE, before, null);
  }
}
