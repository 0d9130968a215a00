import { openLibrary } from "./clibrary.ts";

/** Those that node:fs and Bun have no name for. Linux only: elsewhere koda does without them. */
const functions = {
  fcntl: { args: ["i32", "i32", "i32"], returns: "i32" },
  flock: { args: ["i32", "i32"], returns: "i32" },
  memfd_create: { args: ["ptr", "u32"], returns: "i32" },
  pipe2: { args: ["ptr", "i32"], returns: "i32" },
  prctl: { args: ["i32", "u64", "u64", "u64", "u64"], returns: "i32" },
  prlimit: { args: ["i32", "i32", "ptr", "ptr"], returns: "i32" },
  recvmsg: { args: ["i32", "ptr", "i32"], returns: "i64" },
  socket: { args: ["i32", "i32", "i32"], returns: "i32" },
  socketpair: { args: ["i32", "i32", "i32", "ptr"], returns: "i32" },
  syscall: { args: ["i64", "ptr", "u64", "u32"], returns: "i64" },
  waitpid: { args: ["i32", "ptr", "i32"], returns: "i32" },
} as const;

const PR_SET_CHILD_SUBREAPER = 36;
const WNOHANG = 1;

let loaded: { libc: ReturnType<typeof openLibrary<typeof functions>> } | undefined;

/** Undefined where the C library cannot be called. One table for a thread: binding it again and again costs more. */
export function libc() {
  loaded ??= { libc: openLibrary(functions) };
  return loaded.libc;
}

/** From now on orphans below this process become its own children, instead of init's. */
export function becomeSubreaper(): boolean {
  return libc()?.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) === 0;
}

/** Takes the exit status of dead children, if they are ours: of one process, or of a group when it is negative. */
export function reap(pid: number): void {
  while ((libc()?.waitpid(pid, null, WNOHANG) ?? 0) > 0);
}
