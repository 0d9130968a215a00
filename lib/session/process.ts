import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { errnoOf, unlessRefused } from "../errors.ts";
import { statOf } from "../system/procstat.ts";

/** What tells a process from every other one, here and elsewhere, now and later. */
export type ProcessIdentity = { pid: number; started: string; host: string; machine: string };

let identity: ProcessIdentity | undefined;

export function thisProcess(): ProcessIdentity {
  identity ??= {
    pid: process.pid,
    started: statOf(process.pid)?.started ?? "",
    host: hostname(),
    machine: machineOf(),
  };
  return identity;
}

/** Surely gone, that is: of a process that cannot be seen from here nothing is known. */
export function isProcessGone({ pid, started, machine }: ProcessIdentity): boolean {
  if (machine === "" || machine !== thisProcess().machine) return false;
  if (!exists(pid)) return true;
  const now = statOf(pid);
  if (now === undefined) return false;
  // A zombie has ended, although nobody has asked how; another start time is a later process with the same pid.
  return now.isDead || (started !== "" && now.started !== started);
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errnoOf(error) !== "ESRCH";
  }
}

/**
 * Where a pid means the same process as here: two containers may share a name, and a restarted machine its pids. Empty
 * where that cannot be told (no /proc).
 */
function machineOf(): string {
  const boot = unlessRefused(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
  const pids = unlessRefused(() => readlinkSync("/proc/self/ns/pid"));
  return boot === undefined || pids === undefined ? "" : `${boot} ${pids}`;
}
