import { closeSync, openSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { KodaError, reasonOf, unlessRefused } from "../lib/errors.ts";
import { temporaryName } from "../lib/files/save.ts";

/** A file that is written piece by piece, and has its name once it is whole. A pipe or a device is written to. */
export function openResultFile(file: string) {
  const path = resolve(file);
  const isPlain = unlessRefused(() => statSync(path))?.isFile() ?? true;
  const written = isPlain ? join(dirname(path), temporaryName()) : path;
  const attempt = <T>(step: () => T): T => {
    try {
      return step();
    } catch (error) {
      throw new KodaError("output", `Cannot write the results to "${file}" (-o): ${reasonOf(error)}`, { cause: error });
    }
  };
  const descriptor = attempt(() => openSync(written, isPlain ? "wx" : "w", 0o666));
  return {
    write(text: string): void {
      const bytes = Buffer.from(text);
      for (let sent = 0; sent < bytes.length;) sent += attempt(() => writeSync(descriptor, bytes, sent));
    },
    finish(): void {
      if (isPlain) attempt(() => renameSync(written, path));
    },
    async [Symbol.asyncDispose]() {
      closeSync(descriptor);
      if (isPlain) rmSync(written, { force: true });
    },
  };
}
