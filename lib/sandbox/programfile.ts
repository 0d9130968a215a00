import { closeSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sealedFile } from "./descriptors.ts";

/** A program of ours that can be spawned: in memory and sealed, or in a directory that only koda's user can enter. */
export class ProgramFile implements Disposable {
  readonly path: string;
  /** To be handed on where the path means nothing. */
  readonly descriptor: number | undefined;
  readonly #directory: string | undefined;

  constructor(content: Uint8Array) {
    this.descriptor = sealedFile("koda-sandbox", content);
    if (this.descriptor !== undefined) {
      this.path = `/proc/self/fd/${this.descriptor}`;
      return;
    }
    // Some systems let nobody execute what is only in memory (vm.memfd_noexec).
    this.#directory = mkdtempSync(join(tmpdir(), "koda-program-"));
    this.path = join(this.#directory, "koda-sandbox");
    writeFileSync(this.path, content, { mode: 0o500 });
  }

  [Symbol.dispose](): void {
    if (this.descriptor !== undefined) closeSync(this.descriptor);
    if (this.#directory !== undefined) rmSync(this.#directory, { recursive: true, force: true });
  }
}
