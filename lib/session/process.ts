import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { errnoOf, unlessRefused } from "../errors.ts";
import { statOf } from "../system/procstat.ts";

/** Identifies a process across machines, containers and restarts. */
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

/** True only when that is certain: a process of another machine or container cannot be seen from here. */
export function isProcessGone({ pid, started, machine }: ProcessIdentity): boolean {
  if (machine === "" || machine !== thisProcess().machine) return false;
  if (!exists(pid)) return true;
  const now = statOf(pid);
  if (now === undefined) return false;
  // A zombie has ended; another start time is that of a later process with the same pid.
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
 * Identifies a place in which pids are unique: containers may share a host name, and a restarted machine reuses pids.
 * Empty where it cannot be known (no /proc).
 */
function machineOf(): string {
  const boot = unlessRefused(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
  const pids = unlessRefused(() => readlinkSync("/proc/self/ns/pid"));
  return boot === undefined || pids === undefined ? "" : `${boot} ${pids}`;
}
