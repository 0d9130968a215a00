import { type Condition, type Processor, type Register, word } from "./processor.ts";

/** x0 is the first argument and the result, x8 the number; x16 and x17 are free for passing values on. */
const registers: Record<Register, number> = { result: 0, number: 8, 0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5 };
const [scratch, compared] = [16, 17] as const;

export const arm64: Processor = {
  machine: 183,
  pageBytes: 0x10000,
  column: 1,

  constant: (name, value) => constant(registers[name], value),

  // ldr x / ldr w, [x16]
  load(name, address, bytes) {
    const operation = { 4: 0xb9400200, 8: 0xf9400200 }[bytes];
    return [...constant(scratch, address), ...word(operation | registers[name])];
  },

  // str x0 / str w0 / strb w0, [x16]
  store(address, bytes) {
    const operation = { 1: 0x39000200, 4: 0xb9000200, 8: 0xf9000200 }[bytes];
    return [...constant(scratch, address), ...word(operation)];
  },

  // svc #0
  call: () => word(0xd4000001),

  branch(condition) {
    return {
      // A conditional branch does not reach far, so its opposite skips a plain one, which does.
      code: [...skipUnless(condition), ...word(0x14000000)],
      // The plain branch counts in instructions from itself.
      link: (at, target) => word(0x14000000 | (((target - (at - 4)) >> 2) & 0x3ffffff)),
    };
  },

  // and x0, x0, #0x7f
  lowSevenBits: () => word(0x92401800),
  // ubfx x0, x0, #8, #8
  secondByte: () => word(0xd3483c00),
  // add x0, x0, #constant
  add: (value) => word(0x91000000 | (value << 10)),
  // neg x0, x0
  negate: () => word(0xcb0003e0),
  // mov x1, #10; udiv x2, x0, x1; msub x3, x2, x1, x0; add w3, w3, #'0'; strb w3, [x16]; mov x0, x2
  digit: (address) => [
    ...constant(1, 10),
    ...word(0x9ac10802),
    ...word(0x9b018043),
    ...word(0x1100c063),
    ...constant(scratch, address),
    ...word(0x39000203),
    ...word(0xaa0203e0),
  ],

  // add x0, sp, #16
  addressOfArgument1: () => word(0x910043e0),
  // ldr x1, [sp]; add x0, sp, #16; add x0, x0, x1, lsl #3
  addressOfEnvironment: () => [...word(0xf94003e1), ...word(0x910043e0), ...word(0x8b010c00)],
  // ldr x0, [x0]
  follow: () => word(0xf9400000),
};

/** movz and movk: sixteen bits at a time, those that are not zero. */
function constant(register: number, value: number | bigint): number[] {
  const whole = BigInt.asUintN(64, BigInt(value));
  const parts = [0, 1, 2, 3].map((at) => ({ at, bits: Number((whole >> BigInt(16 * at)) & 0xffffn) }));
  const [first = parts[0], ...rest] = parts.filter(({ bits }) => bits !== 0);
  const move = (operation: number, part: { at: number; bits: number } | undefined) =>
    part === undefined ? [] : word(operation | (part.at << 21) | (part.bits << 5) | register);
  return [...move(0xd2800000, first), ...rest.flatMap((part) => move(0xf2800000, part))];
}

/** Steps over the next instruction unless the condition holds. */
function skipUnless(condition: Condition): number[] {
  switch (condition) {
    case "always":
      return [];
    // cbnz x0, +8
    case "zero":
      return word(0xb5000040);
    // cbz x0, +8
    case "nonzero":
      return word(0xb4000040);
    // tbz x0, #63, +8
    case "negative":
      return word(0xb6f80040);
    // cmp x0, x17; b.ne +8
    default:
      return [...fetch(condition), ...word(0xeb11001f), ...word(0x54000041)];
  }
}

/** The value to compare with, into x17; from memory by ldr x17, [x16] */
function fetch(condition: { equals: number } | { is: number }): number[] {
  if ("is" in condition) return constant(compared, condition.is);
  return [...constant(scratch, condition.equals), ...word(0xf9400200 | compared)];
}
