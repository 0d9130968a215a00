import { readFileSync } from "node:fs";
import { unlessRefused } from "../errors.ts";

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
