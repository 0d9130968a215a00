import { readdirSync } from "node:fs";
import { unlessRefused } from "../errors.ts";
import { openLibrary } from "./clibrary.ts";

const functions = {
  getpeername: { args: ["i32", "ptr", "ptr"], returns: "i32" },
  getsockopt: { args: ["i32", "i32", "i32", "ptr", "ptr"], returns: "i32" },
} as const;

/** Apart from the other functions, since most runs do not need these. */
let loaded: { library: ReturnType<typeof openLibrary<typeof functions>> } | undefined;

/**
 * True while a connection of this process to a port is being set up: TCP is not open yet, or the other side's part of
 * the TLS handshake has not come. The kernel is asked, since Bun does not tell. False where it cannot be asked.
 */
export function isBeingSetUp(port: number): boolean {
  loaded ??= { library: openLibrary(functions) };
  const { library } = loaded;
  if (library === undefined) return false;
  const descriptors = unlessRefused(() => readdirSync("/proc/self/fd")) ?? [];
  return descriptors.some((name) => {
    const fd = Number(name);
    length.writeInt32LE(info.length);
    if (library.getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, length) !== 0) return false;
    if (info[0] === TCP_SYN_SENT) return true;
    if (info[0] !== TCP_ESTABLISHED) return false;
    length.writeInt32LE(peer.length);
    if (library.getpeername(fd, peer, length) !== 0 || peer.readUInt16BE(2) !== port) return false;
    const hasHeard = info.readBigUInt64LE(bytesReceivedAt) > 0n;
    return !hasHeard || info.readUInt32LE(lastReceivedAt) < quietMs;
  });
}

/** The rest of the handshake may follow, and Bun has to compute its own part. */
const quietMs = 3;

const [IPPROTO_TCP, TCP_INFO, TCP_ESTABLISHED, TCP_SYN_SENT] = [6, 11, 1, 2] as const;

/** In struct tcp_info: milliseconds since the last data came, and how much came in all. */
const [lastReceivedAt, bytesReceivedAt] = [52, 128] as const;

const info = Buffer.alloc(256);
/** struct sockaddr_in or sockaddr_in6: both have the port at the same place. */
const peer = Buffer.alloc(28);
const length = Buffer.alloc(4);
