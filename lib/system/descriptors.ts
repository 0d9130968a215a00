import { closeSync, constants, fstatSync, openSync, writeSync } from "node:fs";
import { unlessRefused } from "../errors.ts";
import { addressOf } from "./clibrary.ts";
import { libc } from "./libc.ts";

/** MFD_CLOEXEC | MFD_ALLOW_SEALING, and MFD_EXEC, which kernels before 6.3 do not know. */
const [sealable, executable] = [0b11, 0x10] as const;
const F_ADD_SEALS = 1033;
/** Against shrinking, growing and writing it, and against further seals. */
const everySeal = 0xf;

/**
 * A file of the given content that has no name, so that no other process can put another one in its place, and that may
 * be executed: in memory and sealed, or in a directory, for systems that execute nothing that is only in memory
 * (vm.memfd_noexec). Undefined where neither can be made.
 */
export function namelessFile(name: string, content: Uint8Array, directory: string): number | undefined {
  return inMemory(name, content) ?? unlessRefused(() => onDisk(content, directory));
}

function inMemory(name: string, content: Uint8Array): number | undefined {
  const label = Buffer.from(`${name}\0`);
  const make = (flags: number) => libc()?.memfd_create(addressOf(label), flags) ?? -1;
  let file = make(sealable | executable);
  if (file < 0) file = make(sealable);
  if (file < 0) return undefined;
  // A limit on the size of files holds in memory too.
  const isWhole = unlessRefused(() => (writeAll(file, content), true)) ?? false;
  const mayRun = isWhole && (fstatSync(file).mode & 0o111) !== 0;
  if (mayRun && libc()?.fcntl(file, F_ADD_SEALS, everySeal) === 0) return file;
  closeSync(file);
  return undefined;
}

/** Linux's O_TMPFILE, which node:fs does not name. With O_EXCL the file never gets a name. */
const unnamed = 0o20000000 | constants.O_DIRECTORY | constants.O_EXCL;
const onlyToRun = 0o500;

function onDisk(content: Uint8Array, directory: string): number {
  const writable = openSync(directory, unnamed | constants.O_RDWR, onlyToRun);
  try {
    writeAll(writable, content);
    return openSync(`/proc/self/fd/${writable}`, constants.O_RDONLY);
  } finally {
    // A file that is open for writing cannot be started.
    closeSync(writable);
  }
}

/** At explicit offsets: the descriptor's own stays at the beginning, for the process that it is handed to. */
function writeAll(file: number, content: Uint8Array): void {
  for (let at = 0; at < content.length;) at += writeSync(file, content, at, content.length - at, at);
}

export type SocketPair = { here: number; there: number };

const [unix, wholeMessages, closeOnExec] = [1, 5, 0o2000000] as const;

/** Two connected sockets that keep messages apart (SOCK_SEQPACKET); `there` is for a child. */
export function socketPair(): SocketPair | undefined {
  const ends = new Int32Array(2);
  if (libc()?.socketpair(unix, wholeMessages | closeOnExec, 0, addressOf(ends)) !== 0) return undefined;
  const [here = -1, there = -1] = ends;
  return { here, there };
}

/** struct cmsghdr {u64 length; i32 level; i32 type}, then the descriptors. */
const headerBytes = 16;
const mostDescriptors = 8;
const [MSG_CMSG_CLOEXEC, MSG_DONTWAIT] = [0x40000000, 0x40] as const;

type Message = { text: string; descriptors: readonly number[] };

/** Takes the next message with the descriptors that came with it; undefined when there is none now. */
export function receive(socket: number): Message | undefined {
  const text = Buffer.alloc(64);
  const control = Buffer.alloc(headerBytes + 4 * mostDescriptors);
  const part = new BigUint64Array([BigInt(addressOf(text)), BigInt(text.length)]);
  // struct msghdr: no address, one part, the control data, no flags.
  const header = new BigUint64Array([
    0n,
    0n,
    BigInt(addressOf(part)),
    1n,
    BigInt(addressOf(control)),
    BigInt(control.length),
    0n,
  ]);
  const flags = MSG_CMSG_CLOEXEC | MSG_DONTWAIT;
  const length = Number(libc()?.recvmsg(socket, addressOf(header), flags) ?? -1);
  if (length <= 0) return undefined;
  const controlLength = Number(header[5] ?? 0n) === 0 ? 0 : Number(control.readBigUInt64LE(0));
  const count = Math.max(0, Math.floor((controlLength - headerBytes) / 4));
  const descriptors = Array.from({ length: count }, (_, index) => control.readInt32LE(headerBytes + 4 * index));
  return { text: text.toString("latin1", 0, length), descriptors };
}

const locks = { shared: 1, alone: 2 } as const;
const withoutWaiting = 4;

/** Locks an open file or directory, in place of the lock that this descriptor had. */
export function tryLock(descriptor: number, how: keyof typeof locks): boolean {
  return libc()?.flock(descriptor, locks[how] | withoutWaiting) === 0;
}
