import {
  closeSync,
  constants,
  fchmodSync,
  mkdirSync,
  openSync,
  readSync,
  readlinkSync,
  symlinkSync,
  writeSync,
} from "node:fs";
import { yieldToEventLoop } from "../../async/yieldtoeventloop.ts";
import type { HeldDirectory } from "../../files/held.ts";

/**
 * Copies an entry from one held directory into another, with all that is in it and without following a symlink. Sockets,
 * FIFOs and devices hold nothing that could be copied.
 */
export async function copyEntry(from: HeldDirectory, name: string, to: HeldDirectory): Promise<void> {
  const stats = from.look(name);
  if (stats?.isSymbolicLink()) return symlinkSync(readlinkSync(from.at(name)), to.at(name));
  if (stats?.isFile()) return copyFile(from, name, to);
  if (!stats?.isDirectory()) return;

  mkdirSync(to.at(name), { mode: 0o700 });
  using source = from.child(name);
  using copy = to.child(name);
  await yieldToEventLoop();
  for (const inner of source.names()) await copyEntry(source, inner, copy);
}

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
const chunkBytes = 1024 * 1024;

function copyFile(from: HeldDirectory, name: string, to: HeldDirectory): void {
  using source = from.openFile(name);
  const copy = openSync(to.at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    const chunk = Buffer.alloc(Number(source.stats.size < chunkBytes ? source.stats.size + 1n : chunkBytes));
    for (let read = readSync(source.descriptor, chunk); read > 0; read = readSync(source.descriptor, chunk))
      for (let written = 0; written < read;) written += writeSync(copy, chunk, written, read - written);
    fchmodSync(copy, Number(source.stats.mode & 0o777n));
  } finally {
    closeSync(copy);
  }
}
