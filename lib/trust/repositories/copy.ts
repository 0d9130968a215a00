import { chmodSync, createReadStream, createWriteStream, mkdirSync, readlinkSync, symlinkSync } from "node:fs";
import { pipeline } from "node:stream/promises";
import { yieldToEventLoop } from "../../async/yieldtoeventloop.ts";
import type { HeldDirectory } from "../../files/held.ts";

/**
 * Copies an entry from one held directory into another, with all that is in it and without following a symlink.
 * Sockets, FIFOs and devices hold nothing that could be copied.
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

async function copyFile(from: HeldDirectory, name: string, to: HeldDirectory): Promise<void> {
  using source = from.openFile(name);
  const reader = createReadStream("", { fd: source.descriptor, autoClose: false });
  await pipeline(reader, createWriteStream(to.at(name), { flags: "wx", mode: 0o600 }));
  chmodSync(to.at(name), Number(source.stats.mode & 0o777n));
}
