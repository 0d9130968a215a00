import { ByteList } from "./bytelist.ts";
import { dataAddress, elfFile } from "./elf.ts";
import { setupFailed } from "./failure.ts";
import type { Branch, Condition, Processor, Register } from "./processor.ts";
import { type Syscall, syscalls } from "./syscalls.ts";

/** Eight bytes of the program's data, known by their address. */
export type Variable = { readonly address: number };
/** A place in the code; it may be jumped to before it is placed. */
type Label = { readonly name: string };
/** Four bytes within data, by their address: a file descriptor or another number that the kernel left, not negative. */
type Half = { readonly half: number };
/** An argument: a number, the address of data, or what a variable holds when the step is reached. */
export type Value = number | bigint | Variable | Half;

export type StepOptions = {
  /** The step in words: when it fails the program names it and exits 126. */
  must?: string;
  /** Jumps there when it fails. */
  onError?: Label;
  /** Jumps there when it fails in one of these ways; goes before `onError` and `must`. */
  onErrno?: { errno: readonly number[]; to: Label };
  /** Keeps the result. */
  into?: Variable;
  /** Keeps its lower half, at an address within data: where a structure wants a file descriptor. */
  into32?: number;
};

/** By the last result. */
type JumpCondition = "always" | "zero" | "nonzero" | "negative" | { equals: Variable } | { is: number };

/**
 * Writes a program that is a list of system calls, without a library and without a compiler. A step's arguments are
 * constants, addresses of the program's own data, and variables that earlier steps filled; what can be decided on is
 * the last result. It is enough to build a sandbox and to execve into it.
 */
export class Assembly {
  readonly #processor: Processor;
  readonly #code = new ByteList();
  readonly #data = new ByteList();
  readonly #placed = new Map<Label, number>();
  readonly #jumps: { branch: Branch; at: number; label: Label }[] = [];
  readonly #failures: { label: Label; message: string }[] = [];
  readonly #errno: Variable;
  readonly #complaints: number;
  /** The program's own arguments, without its name, and its environment, as execve wants them. */
  readonly program: Variable;
  readonly argv: Variable;
  readonly environment: Variable;

  /** `complaints` is the descriptor to which a failed step is told: stderr's, or one that the command never sees. */
  constructor(processor: Processor, { complaints = 2 } = {}) {
    this.#processor = processor;
    this.#complaints = complaints;
    this.#errno = this.variable();
    this.program = this.variable();
    this.argv = this.variable();
    this.environment = this.variable();
    this.#emit(processor.addressOfArgument1());
    this.save(this.argv);
    this.#emit(processor.follow());
    this.save(this.program);
    this.#emit(processor.addressOfEnvironment());
    this.save(this.environment);
  }

  /** Puts bytes into the data; returns their address. */
  bytes(content: Uint8Array): number {
    const address = this.#nextData();
    this.#data.add(content);
    return address;
  }

  /** A C string. */
  text(content: string): number {
    const address = dataAddress + this.#data.length;
    this.#data.addText(`${content}\0`);
    return address;
  }

  /** Words of 64 bits, one after another: most of the kernel's structures are nothing else. */
  words(...values: (number | bigint)[]): number {
    const address = this.#nextData();
    for (const value of values) this.#data.addWord(value);
    return address;
  }

  #nextData(): number {
    this.#data.align(8);
    return dataAddress + this.#data.length;
  }

  variable(): Variable {
    return { address: this.words(0) };
  }

  /** One system call. */
  step(name: Syscall, args: readonly Value[] = [], options: StepOptions = {}): void {
    const { must, onError, onErrno, into, into32 } = options;
    for (const [index, value] of args.entries()) this.#set(argumentAt(index), value);
    this.#set("number", syscalls[name][this.#processor.column]);
    this.#emit(this.#processor.call());
    if (onErrno !== undefined) for (const errno of onErrno.errno) this.jump({ is: -errno }, onErrno.to);
    if (onError !== undefined) this.jump("negative", onError);
    if (must !== undefined) this.jump("negative", this.#failure(must));
    if (into !== undefined) this.save(into);
    if (into32 !== undefined) this.#emit(this.#processor.store(into32, 4));
  }

  label(name: string): Label {
    return { name };
  }

  place(label: Label): void {
    if (this.#placed.has(label)) throw new Error(`The label "${label.name}" is placed twice`);
    this.#placed.set(label, this.#code.length);
  }

  jump(condition: JumpCondition, label: Label): void {
    const branch = this.#processor.branch(onProcessor(condition));
    this.#emit(branch.code);
    this.#jumps.push({ branch, at: this.#code.length, label });
  }

  /** Makes a value the result. */
  take(value: Value): void {
    this.#set("result", value);
  }

  /** Moves the next of several words to a variable, and makes it the result; `at` has its address and goes on. */
  next(at: Variable, into: Variable): void {
    this.take(at);
    this.#emit(this.#processor.follow());
    this.save(into);
    this.take(at);
    this.#emit(this.#processor.add(8));
    this.save(at);
    this.take(into);
  }

  save(variable: Variable): void {
    this.#emit(this.#processor.store(variable.address, 8));
  }

  /** Stores the lower half of a variable within data. */
  copy32(variable: Variable, address: number): void {
    this.take(variable);
    this.#emit(this.#processor.store(address, 4));
  }

  /** Ends the program as a shell would that had waited for the status: its exit code, or 128 and the signal. */
  exitLike(status: Variable): void {
    const [signalled, exit] = [this.label("signalled"), this.label("exit")];
    this.take(status);
    this.#emit(this.#processor.lowSevenBits());
    this.jump("nonzero", signalled);
    this.take(status);
    this.#emit(this.#processor.secondByte());
    this.jump("always", exit);
    this.place(signalled);
    this.#emit(this.#processor.add(128));
    this.place(exit);
    this.save(status);
    this.step("exit_group", [status]);
  }

  finish(): Uint8Array {
    this.#writeFailures();
    for (const { branch, at, label } of this.#jumps) {
      const target = this.#placed.get(label);
      if (target === undefined) throw new Error(`The label "${label.name}" is jumped to and never placed`);
      this.#code.replace(at - 4, branch.link(at, target));
    }
    return elfFile(this.#processor, this.#code.content, this.#data.content);
  }

  #failure(what: string): Label {
    const label = this.label(what);
    this.#failures.push({ label, message: `koda sandbox: ${what} failed, errno ` });
    return label;
  }

  /** The ends of all steps that must not fail: say which it was and why, and leave. */
  #writeFailures(): void {
    const end = this.label("failure");
    for (const { label, message } of this.#failures) {
      this.place(label);
      // The message and its length: the last two arguments of the call that follows. The result stays as it is.
      this.#set(1, this.text(message));
      this.#set(2, Buffer.byteLength(message));
      this.jump("always", end);
    }
    this.place(end);
    this.save(this.#errno);
    this.step("write", [this.#complaints]);
    const digits = this.text("000\n");
    this.take(this.#errno);
    this.#emit(this.#processor.negate());
    for (const at of [2, 1, 0]) this.#emit(this.#processor.digit(digits + at));
    this.step("write", [this.#complaints, digits, 4]);
    this.step("exit_group", [setupFailed]);
  }

  #set(register: Register, value: Value): void {
    if (typeof value !== "object") this.#emit(this.#processor.constant(register, value));
    else if ("half" in value) this.#emit(this.#processor.load(register, value.half, 4));
    else this.#emit(this.#processor.load(register, value.address, 8));
  }

  #emit(instructions: readonly number[]): void {
    this.#code.add(instructions);
  }
}

function onProcessor(condition: JumpCondition): Condition {
  if (typeof condition !== "object" || "is" in condition) return condition;
  return { equals: condition.equals.address };
}

function argumentAt(index: number): 0 | 1 | 2 | 3 | 4 | 5 {
  const places = [0, 1, 2, 3, 4, 5] as const;
  const place = places[index];
  if (place === undefined) throw new Error("A system call has at most six arguments");
  return place;
}
