import { constants } from "node:os";
import type { Address } from "./address.ts";
import {
  close,
  duplicate,
  isBlocking,
  nonBlockingSocket,
  ofThread,
  openProcess,
  setBlocking,
  socketType,
} from "./calls.ts";
import { type Call, type ConnectCall, putInPlace } from "./notification.ts";
import { describeSocket, processOf, socketName, unixType } from "./process.ts";
import type { ConnectRules } from "./rules.ts";

const { EINVAL, EISCONN, ENOSYS, ENOTSOCK, EPERM } = constants.errno;

/** A socket to connect on a command's behalf. It never blocks us, whatever the command's does. */
export type Socket = Disposable & {
  readonly descriptor: number;
  readonly type: number;
  /** The command waits until it is connected. */
  readonly waits: boolean;
  /** Once it is connected: lets the command have it; zero or a negative errno. */
  deliver(): number;
};

/**
 * The command's own socket, or where the kernel keeps that from koda, another to take its place. At a file another
 * always does: only when it is connected is it known who listens, and until then the command must not send.
 */
export function socketFor(call: ConnectCall, address: Address, rules: ConnectRules): Socket | number {
  const borrowed = rules.borrow === false || address.family === "path" ? -EPERM : borrow(call);
  return borrowed === -EPERM || borrowed === -ENOSYS ? substitute(call, address, rules) : borrowed;
}

/** A duplicate: what is done to it is done to the command's. */
function borrow(call: ConnectCall): Socket | number {
  const descriptor = duplicateOf(call);
  if (descriptor < 0) return descriptor;
  const type = socketType(descriptor);
  if (type < 0) {
    close(descriptor);
    return type;
  }
  const waits = isBlocking(descriptor);
  if (waits) setBlocking(descriptor, false);
  return {
    descriptor,
    type,
    waits,
    deliver: () => 0,
    [Symbol.dispose]() {
      if (waits) setBlocking(descriptor, true);
      close(descriptor);
    },
  };
}

/** A descriptor of the file that the call is about, whatever the command has there later; or a negative errno. */
export function duplicateOf({ pid, descriptor }: Call): number {
  let holder = openProcess(pid, ofThread);
  // Kernels before 6.9 know processes only.
  if (holder === -EINVAL) holder = openProcess(processOf(pid), 0);
  if (holder < 0) return holder;
  const result = duplicate(holder, descriptor);
  close(holder);
  return result;
}

const families = { unix: 1, tcp: 2 } as const;
const stream = 1;

/**
 * A socket of koda's own, in koda's network. It is put in place when it is connected, so a command that does not wait
 * is served as if it did. What the command's had before (options, an address of its own) is lost, duplicates of it stay
 * unconnected.
 */
function substitute(call: ConnectCall, address: Address, { tcp }: ConnectRules): Socket | number {
  const family = familyOf(address, tcp);
  if (family === undefined) return -EPERM;
  const theirs = describeSocket(call);
  if (theirs === undefined) return -ENOTSOCK;
  if (placed.has(theirs.name)) return -EISCONN;

  const type = family === "unix" ? (unixType(call.pid, theirs.name) ?? stream) : stream;
  const descriptor = nonBlockingSocket(families[family], type);
  if (descriptor < 0) return descriptor;
  return {
    descriptor,
    type,
    waits: theirs.blocks || family === "tcp",
    deliver() {
      if (theirs.blocks) setBlocking(descriptor, true);
      remember(socketName("self", descriptor));
      return putInPlace(call, { source: descriptor, closeOnExec: theirs.closeOnExec });
    },
    [Symbol.dispose]: () => close(descriptor),
  };
}

/** koda can connect to files, which are the same in every network, and to addresses of its own network. */
function familyOf({ family }: Address, tcp: ConnectRules["tcp"]): keyof typeof families | undefined {
  if (family === "path") return "unix";
  return family === "inet" && tcp !== "any" ? "tcp" : undefined;
}

/** The sockets that were put in place last: they are connected, and are not replaced once more. */
const placed = new Set<string>();
const mostPlaced = 1000;

function remember(name: string | undefined): void {
  if (name === undefined) return;
  placed.add(name);
  for (const oldest of placed) {
    if (placed.size <= mostPlaced) return;
    placed.delete(oldest);
  }
}
