import { openLibrary } from "./clibrary.ts";
import type { Pipe } from "./pipe.ts";

/** Linux only: elsewhere koda does without them. */
const functions = {
  pipe2: { args: ["ptr", "i32"], returns: "i32" },
  fcntl: { args: ["i32", "i32", "i32"], returns: "i32" },
  prctl: { args: ["i32", "u64", "u64", "u64", "u64"], returns: "i32" },
  prlimit: { args: ["i32", "i32", "ptr", "ptr"], returns: "i32" },
  waitpid: { args: ["i32", "ptr", "i32"], returns: "i32" },
} as const;

const O_CLOEXEC = 0o2000000;
const F_SETPIPE_SZ = 1031;
const PR_SET_CHILD_SUBREAPER = 36;
const RLIMIT_NOFILE = 7;
const WNOHANG = 1;

let loaded: { libc: ReturnType<typeof openLibrary<typeof functions>> } | undefined;

function libc() {
  loaded ??= { libc: openLibrary(functions) };
  return loaded.libc;
}

/** A real pipe, which no other program inherits, of the usual size or another; undefined where there is none to be had. */
export function openPipe({ bytes }: { bytes?: number } = {}): Pipe | undefined {
  const ends = new Int32Array(2);
  if (libc()?.pipe2(ends, O_CLOEXEC) !== 0) return undefined;
  const [read = -1, write = -1] = ends;
  // Refused when the user's share of pipe memory is used up, which costs speed and nothing else.
  if (bytes !== undefined) libc()?.fcntl(write, F_SETPIPE_SZ, bytes);
  return { read, write };
}

/** From now on orphans below this process become its own children, instead of init's. */
export function becomeSubreaper(): boolean {
  return libc()?.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) === 0;
}

/** Takes the exit status of dead children, if they are ours: of one process, or of a group when it is negative. */
export function reap(pid: number): void {
  while ((libc()?.waitpid(pid, null, WNOHANG) ?? 0) > 0);
}

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
