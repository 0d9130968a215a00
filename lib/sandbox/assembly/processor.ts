/**
 * A processor, as far as the assembler has to know it: the handful of instructions that a list of system calls
 * needs. A register is named by its part in a call: the result of the last one, the number of the next, or one of its
 * arguments; some of them are the same register.
 */
export type Register = "result" | "number" | 0 | 1 | 2 | 3 | 4 | 5;

/** When a branch is taken: always, or by the last result, also compared with what is at an address or with a number. */
export type Condition = "always" | "zero" | "nonzero" | "negative" | { equals: number } | { is: number };

/** Instructions whose last four bytes are a jump: `link` gives those, once the target and the end of them are known. */
export type Branch = { code: number[]; link(at: number, target: number): number[] };

export type Processor = {
  /** ELF's number for it. */
  machine: number;
  /** The largest page that a kernel for it may use: segments are aligned to it. */
  pageBytes: number;
  /** Its place in a row of the table of system calls. */
  column: 0 | 1;
  constant(register: Register, value: number | bigint): number[];
  load(register: Register, address: number, bytes: 4 | 8): number[];
  /** Stores the result. */
  store(address: number, bytes: 1 | 4 | 8): number[];
  call(): number[];
  branch(condition: Condition): Branch;
  /** On the result: its lowest seven bits, its second byte, plus a small constant, its negative. */
  lowSevenBits(): number[];
  secondByte(): number[];
  add(constant: number): number[];
  negate(): number[];
  /** The result divided by ten: the rest is stored as a digit, the quotient is the new result. */
  digit(address: number): number[];
  /** At the very start, from the stack the kernel made: the address of argv[1], and that of the first variable. */
  addressOfArgument1(): number[];
  addressOfEnvironment(): number[];
  /** The pointer that the result points to. */
  follow(): number[];
};

/** A 32-bit word, lowest byte first, as both processors have it. */
export function word(value: number): number[] {
  return [value & 255, (value >>> 8) & 255, (value >>> 16) & 255, (value >>> 24) & 255];
}
