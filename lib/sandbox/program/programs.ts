import { ProgramFile } from "./programfile.ts";

/** Commands differ in their arguments only, so one program serves until it has to be built from something else. */
export class Programs<Source> implements Disposable {
  readonly #build: (source: Source) => Uint8Array;
  #last: { key: string; program: ProgramFile } | undefined;

  constructor(build: (source: Source) => Uint8Array) {
    this.#build = build;
  }

  /** The program is there until the next one is asked for. */
  of(source: Source): ProgramFile {
    const key = JSON.stringify(source);
    if (this.#last?.key === key) return this.#last.program;
    this[Symbol.dispose]();
    const program = new ProgramFile(this.#build(source));
    this.#last = { key, program };
    return program;
  }

  [Symbol.dispose](): void {
    this.#last?.program[Symbol.dispose]();
    this.#last = undefined;
  }
}
