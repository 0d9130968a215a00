import { constants } from "node:os";
import type { Endpoint } from "./rules.ts";

const { EAFNOSUPPORT, EINVAL } = constants.errno;

/** The target of a connect(). Paths and names are bytes for the kernel: here each is one character (latin1). */
export type Address =
  /** Ends the connection that there is. */
  | { family: "unspecified"; bytes: Uint8Array }
  | { family: "path"; path: string }
  | { family: "abstract"; name: string; bytes: Uint8Array }
  | { family: "inet" | "inet6"; host: string; port: number; bytes: Uint8Array };

/** struct sockaddr_storage: the kernel takes none that is longer. */
export const mostAddressBytes = 128;
const [unspecified, unix, inet, inet6] = [0, 1, 2, 10] as const;
const familyBytes = 2;
/** The family, and a path of up to 108 bytes. */
const mostUnixBytes = 110;
const inetBytes = 16;
/** The kernel takes an address without a scope, the older form, and reads no further than the newer one's end. */
const [fewestInet6Bytes, inet6Bytes] = [24, 28] as const;

/** Reads a sockaddr as the kernel would; a negative errno where it would not. */
export function parseAddress(bytes: Uint8Array): Address | number {
  if (bytes.length < familyBytes || bytes.length > mostAddressBytes) return -EINVAL;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  switch (view.getUint16(0, true)) {
    case unspecified:
      return { family: "unspecified", bytes: new Uint8Array(inetBytes) };
    case unix:
      return parseUnix(bytes);
    case inet:
      if (bytes.length < inetBytes) return -EINVAL;
      return {
        family: "inet",
        host: bytes.subarray(4, 8).join("."),
        port: view.getUint16(2),
        bytes: bytes.slice(0, 16),
      };
    case inet6:
      if (bytes.length < fewestInet6Bytes) return -EINVAL;
      return { family: "inet6", host: inet6Host(view), port: view.getUint16(2), bytes: bytes.slice(0, inet6Bytes) };
    default:
      return -EAFNOSUPPORT;
  }
}

/** struct sockaddr_in: the family as this processor has it, then port and address as the network does. */
export function inetAddress({ address, port }: Endpoint): Uint8Array {
  return Uint8Array.of(inet, 0, port >> 8, port & 0xff, ...address.split(".").map(Number), 0, 0, 0, 0, 0, 0, 0, 0);
}

/** A path ends with its NUL or with the address; a name without a file begins with a NUL and may contain more. */
function parseUnix(bytes: Uint8Array): Address | number {
  if (bytes.length === familyBytes || bytes.length > mostUnixBytes) return -EINVAL;
  const name = Buffer.from(bytes.subarray(familyBytes)).toString("latin1");
  if (name.startsWith("\0")) return { family: "abstract", name: name.slice(1), bytes: bytes.slice() };
  const [path = ""] = name.split("\0", 1);
  return { family: "path", path };
}

function inet6Host(view: DataView): string {
  const groups = Array.from({ length: 8 }, (_, index) => view.getUint16(8 + 2 * index));
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped) return `::ffff:${[20, 21, 22, 23].map((at) => view.getUint8(at)).join(".")}`;
  // The parser of URLs leaves out the zeros, in the one way that the standard has for it.
  const { hostname } = new URL(`http://[${groups.map((group) => group.toString(16)).join(":")}]/`);
  return hostname.slice(1, -1);
}
