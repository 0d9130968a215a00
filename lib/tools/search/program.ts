import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { namelessFile } from "../../system/descriptors.ts";
import { ripgrepFile } from "./built.ts";

/** A program that can be started by its path until it is disposed of. */
export type RipgrepProgram = Disposable & { path: string };

/**
 * The ripgrep that this koda was built with; one on the PATH is not asked, since its version and so its results are
 * anybody's guess. Undefined when there is none, or when this system does not allow starting it.
 */
export async function ripgrepProgram(): Promise<RipgrepProgram | undefined> {
  if (ripgrepFile === undefined) return undefined;
  if (!isEmbedded(ripgrepFile)) return { path: ripgrepFile, [Symbol.dispose]: () => undefined };
  return process.platform === "linux" ? sharedInMemory(ripgrepFile) : programOnDisk(await bytesOf(ripgrepFile));
}

function isEmbedded(path: string): boolean {
  return path.startsWith("/$bunfs/");
}

/** It belongs to the process, not to a conversation: the same bytes for everyone, made when first needed. */
let inMemory: Promise<string | undefined> | undefined;

async function sharedInMemory(file: string): Promise<RipgrepProgram | undefined> {
  inMemory ??= bytesOf(file).then(programInMemory);
  const path = await inMemory;
  return path === undefined ? undefined : { path, [Symbol.dispose]: () => undefined };
}

/**
 * By a path that is good as long as this process lives; nothing that runs beside koda can put another program there.
 */
export function programInMemory(bytes: Uint8Array): string | undefined {
  const file = namelessFile("rg", bytes, tmpdir());
  return file === undefined ? undefined : `/proc/${process.pid}/fd/${file}`;
}

/** There for one search only, in a directory that nobody else can look into: nothing is left behind. */
export function programOnDisk(bytes: Uint8Array): RipgrepProgram {
  const directory = mkdtempSync(join(tmpdir(), "koda-rg-"));
  const path = join(directory, "rg");
  writeFileSync(path, bytes, { mode: 0o700 });
  return { path, [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }) };
}

async function bytesOf(file: string): Promise<Uint8Array> {
  return new Uint8Array(await Bun.file(file).arrayBuffer());
}
