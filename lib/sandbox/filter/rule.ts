import type { Syscall } from "../assembly/syscalls.ts";
import { allow, type Case, type Check, refuse, type Rule } from "./bpf.ts";

/** A rule about a call by its name: where a processor does not have the call, it has no such rule. */
export type NamedRule = Omit<Rule, "call"> & { call: Syscall };

/** The errors by which programs are told. */
export const [notPermitted, noSuchCall, noSuchFamily, noSuchProtocol] = [1, 38, 97, 93] as const;

/** Calls that are refused whatever they ask for. */
export function refusingAll(calls: readonly Syscall[], errno: number): NamedRule[] {
  return calls.map((call) => ({ call, otherwise: refuse(errno) }));
}

/** A call that is refused in some cases and allowed in all others. */
export function refusing(call: Syscall, ...checks: readonly Check[]): NamedRule {
  return { call, cases: checks.map((check) => notAllowed(check)), otherwise: allow };
}

/** A case of a call in which it is refused. */
export function notAllowed(...when: readonly Check[]): Case {
  return { when, verdict: refuse(notPermitted) };
}

/** A case of a call in which the program is told that it succeeded, and nothing is done. */
export function pretended(...when: readonly Check[]): Case {
  return { when, verdict: refuse(0) };
}

/** A case of a call in which it is allowed. */
export function allowed(...when: readonly Check[]): Case {
  return { when, verdict: allow };
}
