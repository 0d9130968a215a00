import { allow, type Check } from "./bpf.ts";
import { type NamedRule, notAllowed, pretended } from "./rule.ts";

const [core, realTime] = [4, 15] as const;
const [itself, nothing] = [0, 0] as const;

/** A pointer leads somewhere when either half of it says so. */
const setsLimit: readonly Check[] = [false, true].map((isUpper) => ({ argument: 2, isUpper, isNot: nothing }));
const asksNothing: readonly Check[] = [false, true].map((isUpper) => ({ argument: 3, isUpper, is: nothing }));

/**
 * Limits that a command keeps as it was given them. That of real-time CPU time is the mark by which koda finds what a
 * command leaves behind. That of core dumps keeps the machine's handler of crashes from being started: programs with
 * secrets lower it to 0 and end when they cannot, so they are told that they could.
 */
export const limitRules: readonly NamedRule[] = [
  {
    call: "prlimit64",
    cases: [
      // Of another process: it could put a limit on koda itself.
      notAllowed({ argument: 0, isNot: itself }),
      ...setsLimit.flatMap((sets) => [
        notAllowed({ argument: 1, is: realTime }, sets),
        pretended({ argument: 1, is: core }, sets, ...asksNothing),
        notAllowed({ argument: 1, is: core }, sets),
      ]),
    ],
    otherwise: allow,
  },
  {
    call: "setrlimit",
    cases: [notAllowed({ argument: 0, is: realTime }), pretended({ argument: 0, is: core })],
    otherwise: allow,
  },
];
