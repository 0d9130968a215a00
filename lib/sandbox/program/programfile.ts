import { closeSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sealedFile } from "../../system/descriptors.ts";

/** A program of ours that can be spawned: in memory and sealed, or in a directory that only koda's user can enter. */
export class ProgramFile implements Disposable {
  readonly path: string;
  /** To be handed on where the path means nothing. */
  readonly descriptor: number | undefined;
  readonly #directory: string | undefined;

  constructor(content: Uint8Array) {
    this.descriptor = sealedFile("koda-sandbox", content);
    // Koda's own descriptor: by that number the child may have got another one.
    this.path = `/proc/${process.pid}/fd/${this.descriptor}`;
    if (this.descriptor !== undefined && existsSync(this.path)) return;
    // Some systems execute nothing that is only in memory (vm.memfd_noexec), or show another namespace's /proc.
    this.#directory = mkdtempSync(join(tmpdir(), "koda-program-"));
    this.path = join(this.#directory, "koda-sandbox");
    writeFileSync(this.path, content, { mode: 0o500 });
  }

  [Symbol.dispose](): void {
    if (this.descriptor !== undefined) closeSync(this.descriptor);
    if (this.#directory !== undefined) rmSync(this.#directory, { recursive: true, force: true });
  }
}
