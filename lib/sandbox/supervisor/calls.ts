import { KodaError } from "../../errors.ts";
import { addressOf as ptr, openLibrary, readAt as read } from "../../system/clibrary.ts";

/** Every call below answers as the kernel does: a negative number is an errno. */
const functions = {
  poll: { args: ["ptr", "u64", "i32"], returns: "i32" },
  ioctl: { args: ["i32", "u64", "ptr"], returns: "i32" },
  fcntl: { args: ["i32", "i32", "i32"], returns: "i32" },
  close: { args: ["i32"], returns: "i32" },
  openat: { args: ["i32", "ptr", "i32"], returns: "i32" },
  readlinkat: { args: ["i32", "ptr", "ptr", "u64"], returns: "i64" },
  socket: { args: ["i32", "i32", "i32"], returns: "i32" },
  bind: { args: ["i32", "ptr", "u32"], returns: "i32" },
  connect: { args: ["i32", "ptr", "u32"], returns: "i32" },
  listen: { args: ["i32", "i32"], returns: "i32" },
  getsockname: { args: ["i32", "ptr", "ptr"], returns: "i32" },
  shutdown: { args: ["i32", "i32"], returns: "i32" },
  getsockopt: { args: ["i32", "i32", "i32", "ptr", "ptr"], returns: "i32" },
  process_vm_readv: { args: ["i32", "ptr", "u64", "ptr", "u64", "u64"], returns: "i64" },
  // The C library's names for these two are younger than the calls.
  syscall: { args: ["i64", "i64", "i64", "i64"], returns: "i64" },
  __errno_location: { args: [], returns: "ptr" },
} as const;

type Libc = NonNullable<ReturnType<typeof openLibrary<typeof functions>>>;

let loaded: ReturnType<typeof load> | undefined;

/** Once a thread: where errno lies is the thread's own. */
function load() {
  const libc = openLibrary(functions);
  const errno = libc?.__errno_location();
  if (libc === undefined || errno === undefined || errno === null)
    throw new KodaError(
      "sandbox",
      "Cannot watch over what commands connect to: functions of the C library cannot be called here",
    );
  return { libc, errno };
}

function library(): Libc {
  loaded ??= load();
  return loaded.libc;
}

/** Nothing may come between the call and this, or another call's errno is read. */
function outcome(result: number | bigint): number {
  if (result >= 0 || loaded === undefined) return Number(result);
  return -read.i32(loaded.errno, 0);
}

/** Throws where calls are impossible, so that nothing is begun that could not be done. */
export function needCalls(): void {
  library();
}

/** A C string of bytes that are one character each. */
function cString(bytes: string): Buffer {
  return Buffer.from(`${bytes}\0`, "latin1");
}

export const [POLLIN, POLLOUT] = [1, 4] as const;
/** POLLERR | POLLHUP | POLLNVAL: nothing more will come. */
export const pollEnd = 0x38;

type Wanted = { descriptor: number; events: number };

/** Waits for any of the events; what came, in the same order. -1 waits for ever. */
export function poll(wanted: readonly Wanted[], timeoutMs: number): number[] {
  const entries = new Int32Array(wanted.flatMap(({ descriptor, events }) => [descriptor, events]));
  const isInterrupted = library().poll(entries, wanted.length, timeoutMs) < 0;
  return wanted.map((_, index) => (isInterrupted ? 0 : (entries[2 * index + 1] ?? 0) >>> 16));
}

export function ioctl(descriptor: number, request: number, argument: Uint8Array): number {
  return outcome(library().ioctl(descriptor, request, argument));
}

export function close(descriptor: number): void {
  library().close(descriptor);
}

const [F_GETFL, F_SETFL, O_NONBLOCK] = [3, 4, 0o4000] as const;

export function isBlocking(descriptor: number): boolean {
  return (library().fcntl(descriptor, F_GETFL, 0) & O_NONBLOCK) === 0;
}

/** Of the open file, and so of all descriptors that share it. */
export function setBlocking(descriptor: number, blocks: boolean): void {
  const flags = library().fcntl(descriptor, F_GETFL, 0);
  if (flags >= 0) library().fcntl(descriptor, F_SETFL, blocks ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

const [O_PATH, O_NOFOLLOW, O_CLOEXEC] = [0o10000000, process.arch === "arm64" ? 0o100000 : 0o400000, 0o2000000];
/** AT_FDCWD: absolute paths need no directory. */
export const nowhere = -100;

/** Takes hold of a file without opening it; of a symlink itself. */
export function hold(directory: number, name: string): number {
  return outcome(library().openat(directory, cString(name), O_PATH | O_NOFOLLOW | O_CLOEXEC));
}

const mostLinkBytes = 4096;

/** The target of a symlink; without a name, of the one that is held. Undefined for anything else. */
export function readLink(directory: number, name = ""): string | undefined {
  const target = Buffer.alloc(mostLinkBytes);
  const length = Number(library().readlinkat(directory, cString(name), target, target.length));
  return length > 0 ? target.toString("latin1", 0, length) : undefined;
}

const [SOCK_CLOEXEC, SOCK_NONBLOCK] = [0o2000000, 0o4000] as const;

export function nonBlockingSocket(family: number, type: number): number {
  return outcome(library().socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

export function bind(socket: number, address: Uint8Array): number {
  return outcome(library().bind(socket, address, address.length));
}

export function connect(socket: number, address: Uint8Array): number {
  return outcome(library().connect(socket, address, address.length));
}

export function listenOn(socket: number, backlog: number): number {
  return outcome(library().listen(socket, backlog));
}

/** No address is longer; of a path that fills its place the kernel would tell a NUL more. */
const mostNameBytes = 110;

/** The address that a socket itself has. */
export function nameOf(socket: number): Uint8Array | number {
  const [bytes, length] = [new Uint8Array(mostNameBytes), new Uint32Array([mostNameBytes])];
  const result = outcome(library().getsockname(socket, bytes, length));
  return result < 0 ? result : bytes.subarray(0, length[0]);
}

/** Ends both directions, which wakes those who wait at either end. */
export function shutDown(socket: number): void {
  library().shutdown(socket, 2);
}

const SOL_SOCKET = 1;
const [type, credentials] = [
  { option: 3, bytes: 4 },
  { option: 17, bytes: 12 },
] as const;

export function socketType(socket: number): number {
  return firstWordOf(socket, type);
}

/** The process that listens where a unix socket is connected, by its number here; 0 for one that has none. */
export function peerOf(socket: number): number {
  return Math.max(0, firstWordOf(socket, credentials));
}

function firstWordOf(socket: number, { option, bytes }: typeof type | typeof credentials): number {
  const [value, length] = [new Int32Array(bytes / 4), new Int32Array([bytes])];
  const result = outcome(library().getsockopt(socket, SOL_SOCKET, option, value, length));
  return result < 0 ? result : (value[0] ?? 0);
}

/** How many bytes could be read of another process's memory. */
export function readMemory(pid: number, { address, into }: { address: bigint; into: Uint8Array }): number {
  const length = BigInt(into.length);
  const here = new BigUint64Array([BigInt(ptr(into)), length]);
  const there = new BigUint64Array([address, length]);
  return outcome(library().process_vm_readv(pid, here, 1, there, 1, 0));
}

const [pidfdOpen, pidfdGetfd] = [434, 438] as const;
/** PIDFD_THREAD: else only the first thread of a process can be named. */
export const ofThread = 0o200;

export function openProcess(pid: number, flags: number): number {
  return outcome(library().syscall(pidfdOpen, pid, flags, 0));
}

/** A duplicate of another process's descriptor. */
export function duplicate(process: number, descriptor: number): number {
  return outcome(library().syscall(pidfdGetfd, process, descriptor, 0));
}
