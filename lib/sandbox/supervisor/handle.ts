import { fstatSync } from "node:fs";
import { constants } from "node:os";
import { unlessRefused } from "../../errors.ts";
import { Attempt } from "./attempt.ts";
import { close, peerOf } from "./calls.ts";
import { type Decision, decide, mayConnectTo, readable } from "./decide.ts";
import { locate } from "./locate.ts";
import { listenFor } from "./listening.ts";
import type { CallResult, Call, ConnectCall } from "./notification.ts";
import { targetAddress, directoryOf } from "./process.ts";
import type { ConnectRules } from "./rules.ts";
import { socketFor } from "./socket.ts";

const { EACCES, ECONNREFUSED, ENOENT, EPERM } = constants.errno;

export type Report = (call: Call, what: string) => void;

/**
 * Deals with a call: with its result, a negative errno or zero, with an attempt that has yet to be made, or by leaving
 * it to the command itself.
 */
export function handle(call: Call, rules: ConnectRules, report: Report): CallResult | Attempt {
  return call.name === "listen" ? listenFor(call, rules, report) : attempt(call, rules, report);
}

function attempt(call: ConnectCall, rules: ConnectRules, report: Report): number | Attempt {
  const address = targetAddress(call);
  if (typeof address === "number") return address;
  const isRelative = address.family === "path" && !address.path.startsWith("/");
  const cwd = isRelative ? directoryOf(call.pid) : "/";
  if (cwd === undefined) return -EACCES;
  const decision = decide(address, { cwd }, rules);
  if (decision.do === "refuse") {
    if (decision.what !== undefined) report(call, decision.what);
    return -decision.errno;
  }

  using holds = new DisposableStack();
  const target = targetOf(decision, call, rules);
  if ("errno" in target) {
    if (target.what !== undefined) report(call, target.what);
    return -target.errno;
  }
  if (target.held !== undefined) holds.adopt(target.held, close);
  const socket = socketFor(call, address, rules);
  if (typeof socket === "number") return socket;
  holds.use(socket);
  if (decision.types !== undefined && !decision.types.includes(socket.type)) return -EPERM;
  const { descriptor } = socket;
  const refusal = target.held === undefined ? undefined : () => whyNotServed(call, { descriptor, ...target }, report);
  return new Attempt(call, { socket, ...target, refusal, holds: holds.move() });
}

/**
 * A server at a socket file may act outside of the sandbox, wherever the file lies. For commands koda itself calls
 * listen() (listening.ts), and the kernel remembers the process that did.
 */
function whyNotServed(
  call: ConnectCall,
  { descriptor, path }: { descriptor: number; path: string },
  report: Report,
): number {
  if (peerOf(descriptor) === process.pid) return 0;
  report(call, `${socketAt(path)}, where no command of this run listens`);
  return -EACCES;
}

type Target =
  | { address: Uint8Array; from?: Uint8Array | undefined; held?: undefined }
  | { address: Uint8Array; held: number; path: string }
  | { errno: number; what?: string };

function targetOf(decision: Exclude<Decision, { do: "refuse" }>, call: ConnectCall, rules: ConnectRules): Target {
  if (decision.do === "connect") return { address: decision.bytes, from: decision.from };
  const located = locate(decision.path, { ...rules, pid: call.pid });
  const isAllowed = mayConnectTo(located.real, rules);
  if ("errno" in located && isAllowed) return { errno: located.errno };
  if ("held" in located && isAllowed && isSocket(located.held))
    return { address: addressOfHeld(located.held), held: located.held, path: located.real };

  // Every program that looks up a user asks for a service that seldom exists: that is refused without a word.
  if ("errno" in located) return { errno: EACCES, ...(located.errno !== ENOENT && { what: socketAt(located.real) }) };
  close(located.held);
  // The kernel's answer for a file without a listener.
  return isAllowed ? { errno: ECONNREFUSED } : { errno: EACCES, what: socketAt(located.real) };
}

function socketAt(real: string): string {
  return `the unix socket "${readable(real)}"`;
}

function isSocket(held: number): boolean {
  return unlessRefused(() => fstatSync(held).isSocket()) ?? false;
}

/** By the descriptor of what was checked, wherever its name leads by then. */
function addressOfHeld(held: number): Uint8Array {
  return Buffer.from(`\x01\0/proc/self/fd/${held}\0`, "latin1");
}
