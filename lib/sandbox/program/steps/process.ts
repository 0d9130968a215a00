import type { Assembly, Value } from "../../assembly/assembly.ts";
import type { ResourceLimits } from "../../policy/policy.ts";

const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9;
const SIG_SETMASK = 2;
const maskBytes = 8;

/** The process is killed when the one that started it ends, however that happens. */
export function dieWithParent(program: Assembly): void {
  program.step("prctl", [PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0], { must: "prctl(PDEATHSIG)" });
}

/** The parent may have ended before its death signal was set. */
export function exitUnlessChildOf(program: Assembly, parent: number): void {
  const isChild = program.label("its parent is there");
  program.step("getppid");
  program.jump({ is: parent }, isChild);
  program.step("exit_group", [0]);
  program.place(isChild);
}

/** Signals to the group are for the command; processes that only wait for it must outlive them. */
export function blockSignals(program: Assembly): void {
  program.step("rt_sigprocmask", [SIG_SETMASK, program.words(~0n), 0, maskBytes], { must: "rt_sigprocmask" });
}

export function unblockSignals(program: Assembly): void {
  program.step("rt_sigprocmask", [SIG_SETMASK, program.words(0), 0, maskBytes], { must: "rt_sigprocmask" });
}

const CLOSE_RANGE_CLOEXEC = 4;

/** The command gets none of them; until it is there, they may still be needed to say what failed. */
export function closeOnExecFrom(program: Assembly, first: number): void {
  program.step("close_range", [first, 0xffff_ffff, CLOSE_RANGE_CLOEXEC], { must: "close_range" });
}

/** From this number on, to the last. */
export function closeFrom(program: Assembly, first: Value, last: number = 0xffff_ffff): void {
  program.step("close_range", [first, last, 0], { must: "close_range" });
}

const resources = { cpuSeconds: 0, memoryBytes: 9, openFiles: 7, processes: 6 } as const;
const coreDumps = 4;
/** The kernel writes no core dump of one byte, and by this number it also knows not to start a handler of crashes. */
const noCoreDump = 1;

export function limitResources(program: Assembly, limits: ResourceLimits): void {
  limitResource(program, coreDumps, noCoreDump);
  for (const [name, resource] of Object.entries(resources) as [keyof ResourceLimits, number][]) {
    const limit = limits[name];
    if (limit !== undefined) limitResource(program, resource, limit);
  }
}

/** A limit that the kernel finds too high for us is one that holds already. */
function limitResource(program: Assembly, resource: number, limit: number): void {
  const kept = program.label(`limit ${resource} is as it was`);
  program.step("prlimit64", [0, resource, program.words(limit, limit), 0], { onError: kept });
  program.place(kept);
}
