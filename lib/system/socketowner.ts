import { closeSync, readSync, writeSync } from "node:fs";
import { unlessRefused } from "../errors.ts";
import { libc } from "./libc.ts";

/** An end of a TCP connection: an address of four or sixteen bytes. */
export type SocketEnd = { address: Uint8Array; port: number };

/**
 * The user whose process has the end `own` of a TCP connection on this machine, by asking the kernel for that very
 * socket: the table in /proc costs milliseconds. Undefined when no process has it any more (such a socket would count
 * as root's), and where the kernel does not answer.
 */
export function ownerOfSocket(own: SocketEnd, other: SocketEnd): number | undefined {
  const socket = libc()?.socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_SOCK_DIAG) ?? -1;
  if (socket < 0) return undefined;
  try {
    const length = unlessRefused(() => writeSync(socket, question(own, other)) && readSync(socket, answer));
    if (length === undefined || length < answerBytes || answer.readUInt16LE(4) !== SOCK_DIAG_BY_FAMILY)
      return undefined;
    // When the connection is gone, the kernel answers with a listener of the same address.
    const id = idOf(own, other, { mapped: answer[16] === AF_INET6 });
    const [uid, inode] = [answer.readUInt32LE(80), answer.readUInt32LE(84)];
    return id.equals(answer.subarray(20, 20 + id.length)) && inode !== 0 ? uid : undefined;
  } finally {
    closeSync(socket);
  }
}

const [AF_INET, AF_INET6, AF_NETLINK] = [2, 10, 16] as const;
const [SOCK_RAW, SOCK_NONBLOCK, SOCK_CLOEXEC] = [3, 0o4000, 0o2000000] as const;
const [NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST] = [4, 20, 1] as const;
const IPPROTO_TCP = 6;

/** struct nlmsghdr and struct inet_diag_msg, up to its inode. Both processors of koda have the low byte first. */
const answerBytes = 88;
const answer = Buffer.alloc(256);

/** struct nlmsghdr and struct inet_diag_req_v2. */
function question(own: SocketEnd, other: SocketEnd): Buffer {
  const bytes = Buffer.alloc(72);
  bytes.writeUInt32LE(bytes.length, 0);
  bytes.writeUInt16LE(SOCK_DIAG_BY_FAMILY, 4);
  bytes.writeUInt16LE(NLM_F_REQUEST, 6);
  bytes[16] = own.address.length === 4 ? AF_INET : AF_INET6;
  bytes[17] = IPPROTO_TCP;
  // In any state; and without a cookie, which the kernel gives out itself.
  bytes.fill(0xff, 20, 24).fill(0xff, 64);
  bytes.set(idOf(own, other), 24);
  return bytes;
}

/**
 * struct inet_diag_sockid without its cookie: two ports, then two addresses. `mapped`: a socket for IPv6, as Java's
 * are, names IPv4 addresses in its own way.
 */
function idOf(own: SocketEnd, other: SocketEnd, { mapped = false } = {}): Buffer {
  const bytes = Buffer.alloc(36);
  for (const [index, { address, port }] of [own, other].entries()) {
    bytes.writeUInt16BE(port, 2 * index);
    const isMapped = mapped && address.length === 4;
    bytes.set(isMapped ? [...v4Mapped, ...address] : address, 4 + 16 * index);
  }
  return bytes;
}

/** ::ffff:0:0/96 */
const v4Mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
