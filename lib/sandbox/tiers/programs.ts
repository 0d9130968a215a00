import type { Layout } from "../layout.ts";
import { ProgramFile } from "../programfile.ts";

/** Commands differ in their arguments only, so one program serves until something else is there to be seen. */
export class Programs implements Disposable {
  readonly #build: (layout: Layout) => Uint8Array;
  #last: { key: string; program: ProgramFile } | undefined;

  constructor(build: (layout: Layout) => Uint8Array) {
    this.#build = build;
  }

  of(layout: Layout): ProgramFile {
    const key = JSON.stringify(layout);
    if (this.#last?.key === key) return this.#last.program;
    this[Symbol.dispose]();
    const program = new ProgramFile(this.#build(layout));
    this.#last = { key, program };
    return program;
  }

  [Symbol.dispose](): void {
    this.#last?.program[Symbol.dispose]();
    this.#last = undefined;
  }
}
