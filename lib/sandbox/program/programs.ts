import { Recent } from "../recent.ts";
import { ProgramFile } from "./programfile.ts";

/** How many are kept: commands take turns under a few policies, and files that change what they see come and go. */
const mostPrograms = 8;

/** Commands differ in their arguments only, so one program serves all that would be built from equal sources. */
export class Programs<Source> implements Disposable {
  readonly #build: (source: Source) => Uint8Array;
  readonly #built = new Recent<string, ProgramFile>(mostPrograms, (program) => program[Symbol.dispose]());

  constructor(build: (source: Source) => Uint8Array) {
    this.#build = build;
  }

  /** The program is there at least until the next one is asked for. */
  of(source: Source): ProgramFile {
    return this.#built.get(JSON.stringify(source), () => new ProgramFile(this.#build(source)));
  }

  [Symbol.dispose](): void {
    for (const [, program] of this.#built.entries()) program[Symbol.dispose]();
  }
}
