import { closeSync, fstatSync, readSync } from "node:fs";
import { addressOf } from "./clibrary.ts";
import { libc } from "./libc.ts";

/** MFD_CLOEXEC, and MFD_NOEXEC_SEAL, which kernels before 6.3 do not know and some settings demand. */
const [closeOnExec, notExecutable] = [1, 8] as const;
const mostBytes = 64 * 1024;

/**
 * A place for what a program says on stderr, which is seldom anything: a file in memory. Each stream counts for 0.3 MB
 * of garbage, and the first collection takes milliseconds.
 */
export class Complaints implements Disposable {
  /** For the program's stderr. Without the C library what it says is lost. */
  readonly stderr: number | "ignore";

  constructor() {
    const name = Buffer.from("koda-complaints\0");
    const make = (flags: number) => libc()?.memfd_create(addressOf(name), flags) ?? -1;
    const made = make(closeOnExec | notExecutable);
    const file = made < 0 ? make(closeOnExec) : made;
    this.stderr = file < 0 ? "ignore" : file;
  }

  get text(): string {
    if (this.stderr === "ignore") return "";
    const bytes = Buffer.alloc(Math.min(mostBytes, fstatSync(this.stderr).size));
    return bytes.toString("utf8", 0, readSync(this.stderr, bytes, 0, bytes.length, 0));
  }

  [Symbol.dispose](): void {
    if (this.stderr !== "ignore") closeSync(this.stderr);
  }
}
