import { closeSync, readlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { namelessFile } from "../../system/descriptors.ts";
import { Unavailable } from "../tiers/unavailable.ts";

/** A program that koda brings along and that can be spawned; commands cannot replace it. */
export class ProgramFile implements Disposable {
  /** For koda and those of its children that see the same processes. */
  readonly path: string;
  /** To be handed on where the path means nothing. */
  readonly descriptor: number;

  /** Throws Unavailable where no such file can be made. `directory` is used where none can be kept in memory. */
  constructor(content: Uint8Array, { name = "koda-sandbox", directory = tmpdir() } = {}) {
    const descriptor = namelessFile(name, content, directory);
    if (descriptor === undefined)
      throw new Unavailable(
        `no program can be kept in memory, nor without a name in "${directory}"`,
        "let programs run from memory (sysctl vm.memfd_noexec=0), or set TMPDIR to a directory on a disk of this machine",
      );
    this.descriptor = descriptor;
    // Koda's own descriptor: by that number the child may have got another one.
    this.path = `/proc/${readlinkSync("/proc/self")}/fd/${descriptor}`;
  }

  [Symbol.dispose](): void {
    closeSync(this.descriptor);
  }
}
