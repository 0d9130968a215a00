import { type Condition, type Processor, type Register, word } from "./processor.ts";

/** rax carries both the number of a call and its result; the arguments go in rdi, rsi, rdx, r10, r8, r9. */
const registers: Record<Register, number> = { result: 0, number: 0, 0: 7, 1: 6, 2: 2, 3: 10, 4: 8, 5: 9 };

const low = (register: number) => register & 7;
/** The prefix of a 64-bit operation; `extended` is the bit for a register from r8 on. */
const rex = (register: number, extended: number) => (register >= 8 ? 0x48 | extended : 0x48);

export const x64: Processor = {
  machine: 62,
  pageBytes: 0x1000,
  column: 0,

  constant(name, value) {
    const register = registers[name];
    // mov r, imm32 (its sign is extended) where that is enough, else mov r, imm64.
    if (value >= 0 && value <= 0x7fff_ffff)
      return [rex(register, 1), 0xc7, 0xc0 | low(register), ...word(Number(value))];
    const bits = BigInt.asUintN(64, BigInt(value));
    return [rex(register, 1), 0xb8 | low(register), ...word(Number(bits & 0xffff_ffffn)), ...word(Number(bits >> 32n))];
  },

  // mov r, [address]; of four bytes it clears the upper half, and wants a prefix only for a register from r8 on
  load(name, address, bytes) {
    const register = registers[name];
    const operation = [0x8b, 0x04 | (low(register) << 3), 0x25, ...word(address)];
    if (bytes === 8) return [rex(register, 4), ...operation];
    return register >= 8 ? [0x44, ...operation] : operation;
  },

  // mov [address], rax / eax / al
  store(address, bytes) {
    const operation = { 1: [0x88], 4: [0x89], 8: [0x48, 0x89] }[bytes];
    return [...operation, 0x04, 0x25, ...word(address)];
  },

  call: () => [0x0f, 0x05],

  branch(condition) {
    return {
      code: [...test(condition), ...jump(condition), ...word(0)],
      // The distance counts from the end of the instruction.
      link: (at, target) => word(target - at),
    };
  },

  // and eax, 0x7f
  lowSevenBits: () => [0x83, 0xe0, 0x7f],
  // shr eax, 8; and eax, 0xff
  secondByte: () => [0xc1, 0xe8, 0x08, 0x25, 0xff, 0, 0, 0],
  // add eax, imm32
  add: (constant) => [0x05, ...word(constant)],
  // neg rax
  negate: () => [0x48, 0xf7, 0xd8],
  // mov ecx, 10; xor edx, edx; div ecx; add dl, '0'; mov [address], dl
  digit: (address) => [0xb9, ...word(10), 0x31, 0xd2, 0xf7, 0xf1, 0x80, 0xc2, 0x30, 0x88, 0x14, 0x25, ...word(address)],

  // lea rax, [rsp+16]
  addressOfArgument1: () => [0x48, 0x8d, 0x44, 0x24, 0x10],
  // mov rcx, [rsp]; lea rax, [rsp+rcx*8+16]
  addressOfEnvironment: () => [0x48, 0x8b, 0x0c, 0x24, 0x48, 0x8d, 0x44, 0xcc, 0x10],
  // mov rax, [rax]
  follow: () => [0x48, 0x8b, 0x00],
};

/** cmp rax, [address]; cmp rax, imm32 (its sign is extended); or test rax, rax */
function test(condition: Condition): number[] {
  if (condition === "always") return [];
  if (typeof condition === "string") return [0x48, 0x85, 0xc0];
  if ("is" in condition) return [0x48, 0x3d, ...word(condition.is)];
  return [0x48, 0x3b, 0x04, 0x25, ...word(condition.equals)];
}

/** jmp, je, jne, js with a distance of 32 bits */
function jump(condition: Condition): number[] {
  if (condition === "always") return [0xe9];
  if (condition === "nonzero") return [0x0f, 0x85];
  return condition === "negative" ? [0x0f, 0x88] : [0x0f, 0x84];
}
