/**
 * A filter for system calls as data, and its form for the kernel. A call that no rule is about is allowed; of a call's
 * cases the first that fits decides, else its `otherwise`.
 */
export type Rule = { call: number; cases?: readonly Case[]; otherwise: number };
/** All checks must hold. */
export type Case = { when: readonly Check[]; verdict: number };
/** Of an argument the lower 32 bits are looked at, which are all that an int has for the kernel, or the upper ones. */
export type Check = { argument: number; isUpper?: boolean; mask?: number } & (
  { is: number } | { isNot: number } | { hasAny: number }
);

export const allow = 0x7fff0000;
export const kill = 0x80000000;
/** Hands the call to the supervisor. */
export const notify = 0x7fc00000;

export function refuse(errno: number): number {
  return 0x00050000 | errno;
}

type Instruction = { code: number; value: number; ifSo?: Label; ifNot?: Label };
type Label = { at?: number };

const [loadWord, jumpIfEqual, jumpIfAtLeast, jumpIfAny, and, give] = [0x20, 0x15, 0x35, 0x45, 0x54, 0x06] as const;
/** Offsets in struct seccomp_data. */
const [numberAt, architectureAt] = [0, 4] as const;
const argumentAt = (index: number) => 16 + 8 * index;

/** The kernel's numbers of an architecture, and the first of a second set of calls that it may have. */
export type Architecture = { audit: number; otherCallsFrom?: number };

export function compileFilter({ audit, otherCallsFrom }: Architecture, rules: readonly Rule[]): Uint8Array {
  const program: Instruction[] = [];
  const place = (label: Label) => void (label.at = program.length);

  // Calls of another architecture have other numbers: nothing that follows would mean what it says.
  const native: Label = {};
  program.push({ code: loadWord, value: architectureAt });
  program.push({ code: jumpIfEqual, value: audit, ifSo: native });
  program.push({ code: give, value: kill });
  place(native);
  program.push({ code: loadWord, value: numberAt });
  if (otherCallsFrom !== undefined) {
    const usual: Label = {};
    program.push({ code: jumpIfAtLeast, value: otherCallsFrom, ifNot: usual });
    program.push({ code: give, value: refuse(noSuchCall) });
    place(usual);
  }
  for (const rule of rules) {
    const next: Label = {};
    program.push({ code: jumpIfEqual, value: rule.call, ifNot: next });
    for (const { when, verdict } of rule.cases ?? []) {
      const fails: Label = {};
      for (const check of when) program.push(...compileCheck(check, fails));
      program.push({ code: give, value: verdict });
      place(fails);
    }
    program.push({ code: give, value: rule.otherwise });
    place(next);
  }
  program.push({ code: give, value: allow });
  return encode(program);
}

/** ENOSYS: programs take it for an old kernel, and have another way. */
const noSuchCall = 38;

function compileCheck(check: Check, fails: Label): Instruction[] {
  const { argument, isUpper = false } = check;
  const load: Instruction[] = [{ code: loadWord, value: argumentAt(argument) + (isUpper ? 4 : 0) }];
  if (check.mask !== undefined) load.push({ code: and, value: check.mask });
  if ("is" in check) return [...load, { code: jumpIfEqual, value: check.is, ifNot: fails }];
  if ("isNot" in check) return [...load, { code: jumpIfEqual, value: check.isNot, ifSo: fails }];
  return [...load, { code: jumpIfAny, value: check.hasAny, ifNot: fails }];
}

/** struct sock_filter: a code, how many instructions to skip if so and if not, a value; two words, low byte first. */
function encode(program: readonly Instruction[]): Uint8Array {
  const words = new Uint32Array(program.length * 2);
  for (const [index, { code, value, ifSo, ifNot }] of program.entries()) {
    words[index * 2] = code | (distance(index, ifSo) << 16) | (distance(index, ifNot) << 24);
    words[index * 2 + 1] = value;
  }
  return new Uint8Array(words.buffer);
}

function distance(from: number, label: Label | undefined): number {
  if (label === undefined) return 0;
  const skipped = (label.at ?? -1) - from - 1;
  // A byte holds it, and the kernel refuses programs that go back.
  if (skipped < 0 || skipped > 255) throw new Error(`A jump of ${skipped} instructions does not fit into the filter`);
  return skipped;
}
