import { constants } from "node:os";
import { type Address, parseAddress } from "./address.ts";
import { close, listenOn, nameOf } from "./calls.ts";
import { inWords } from "./decide.ts";
import type { Report } from "./handle.ts";
import { type ListenCall, stillWaits } from "./notification.ts";
import type { ConnectRules } from "./rules.ts";
import { duplicateOf } from "./socket.ts";

const { EACCES, EINVAL, ENOSYS, EPERM, ESRCH } = constants.errno;

/**
 * Listens with a command's socket, if the rules allow it: zero or a negative errno, or "itself" where the command is to
 * do so because koda cannot, and no rule is against it. It is done to a duplicate, to the
 * very socket that was looked at: by the number of the call the command may have another one by then.
 */
export function listenFor(call: ListenCall, rules: ConnectRules, report: Report): number | "itself" {
  const socket = rules.borrow === false ? -EPERM : duplicateOf(call);
  if (socket === -EPERM || socket === -ENOSYS) {
    // In a network of its own it may listen anywhere; but at a file no command will be let to it.
    if (rules.tcp === "any" && rules.abstract) return "itself";
    // A socket in its place would have another address.
    report(call, "listening, where the kernel lets koda have no duplicate");
    return -EPERM;
  }
  if (socket < 0) return socket;
  try {
    const refused = whyNotListen(addressOf(socket), rules);
    if (refused?.what !== undefined) report(call, refused.what);
    if (refused !== undefined) return -refused.errno;
    // Else the duplicate may be of a later process by the same number.
    return stillWaits(call) ? listenOn(socket, call.backlog) : -ESRCH;
  } finally {
    close(socket);
  }
}

function addressOf(socket: number): Address | number {
  const name = nameOf(socket);
  return typeof name === "number" ? name : parseAddress(name);
}

/**
 * Why a socket of this address may not listen; with `what` where the rules refuse it. Whether a file may be a socket
 * was decided when it became one; an address that a socket has is its own for good, and one that it does not have yet
 * (a negative errno) is refused here, since it could come to be another.
 */
export function whyNotListen(
  address: Address | number,
  { tcp, abstract }: Pick<ConnectRules, "tcp" | "abstract">,
): { errno: number; what?: string } | undefined {
  if (typeof address === "number") return { errno: -address };
  switch (address.family) {
    case "path":
      return undefined;
    case "abstract":
      return abstract ? undefined : { errno: EACCES, what: `listening on ${inWords(address)}` };
    case "inet":
    case "inet6":
      return tcp === "any" ? undefined : { errno: EACCES, what: `listening on ${inWords(address)}` };
    case "unspecified":
      return { errno: EINVAL };
    default:
      return address satisfies never;
  }
}
