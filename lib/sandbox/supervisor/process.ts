import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { unlessRefused } from "../../errors.ts";
import { type Address, mostAddressBytes, parseAddress } from "./address.ts";
import { nowhere, readLink, readMemory } from "./calls.ts";
import type { Call, ConnectCall } from "./notification.ts";

const { EFAULT, EINVAL } = constants.errno;

/** A copy of the address that a command wants to connect to: it may change in its memory, and this does not. */
export function targetAddress({ pid, address, length }: ConnectCall): Address | number {
  if (length < 0 || length > mostAddressBytes) return -EINVAL;
  const into = new Uint8Array(length);
  if (length === 0) return parseAddress(into);
  const count = readMemory(pid, { address, into });
  if (count < 0) return count;
  return count === length ? parseAddress(into) : -EFAULT;
}

/** The directory that a thread is in, as its process sees it. */
export function directoryOf(pid: number): string | undefined {
  return readLink(nowhere, `/proc/${pid}/cwd`);
}

/** The number of the process that a thread belongs to. */
export function processOf(thread: number): number {
  return Number(/^Tgid:\s*(\d+)$/m.exec(read(`/proc/${thread}/status`))?.[1] ?? thread);
}

type Described = { name: string; blocks: boolean; closeOnExec: boolean };

const [O_NONBLOCK, O_CLOEXEC] = [0o4000, 0o2000000] as const;

/** A socket of another process, as /proc describes it; undefined for anything else. */
export function describeSocket({ pid, descriptor }: Call): Described | undefined {
  const name = socketName(pid, descriptor);
  const flags = /^flags:\s*([0-7]+)$/m.exec(read(`/proc/${pid}/fdinfo/${descriptor}`))?.[1];
  if (name === undefined || flags === undefined) return undefined;
  const bits = Number.parseInt(flags, 8);
  return { name, blocks: (bits & O_NONBLOCK) === 0, closeOnExec: (bits & O_CLOEXEC) !== 0 };
}

/** The number that the system has for a socket, of which no other one has the same. */
export function socketName(pid: number | "self", descriptor: number): string | undefined {
  return /^socket:\[(\d+)\]$/.exec(readLink(nowhere, `/proc/${pid}/fd/${descriptor}`) ?? "")?.[1];
}

/** The type of a unix socket by the kernel's list of them; undefined when it is none. */
export function unixType(pid: number, name: string): number | undefined {
  // Num, RefCount, Protocol, Flags, Type (in hexadecimal), St, Inode, Path
  const row = new RegExp(`^\\S+ \\S+ \\S+ \\S+ (\\S+) \\S+ +${name}(?: |$)`, "m");
  const type = row.exec(read(`/proc/${pid}/net/unix`))?.[1];
  return type === undefined ? undefined : Number.parseInt(type, 16);
}

function read(path: string): string {
  return unlessRefused(() => readFileSync(path, "latin1")) ?? "";
}
