import { closeSync, writeSync } from "node:fs";
import { openLibrary } from "../../system/clibrary.ts";

const functions = {
  memfd_create: { args: ["cstring", "u32"], returns: "i32" },
  fcntl: { args: ["i32", "i32", "i32"], returns: "i32" },
} as const;

const MFD_CLOEXEC = 0x1;
const MFD_ALLOW_SEALING = 0x2;
const MFD_EXEC = 0x10;
const F_ADD_SEALS = 1033;
/** Against sealing less, shrinking, growing and writing. */
const allSeals = 0xf;

/**
 * A program as a sealed file in memory, by the path it can be started from as long as this process lives. No disk is
 * touched, so none must allow it, and nothing that runs beside koda can put another program in its place. Undefined
 * where the system has no such files.
 */
export function programInMemory(bytes: Uint8Array): string | undefined {
  const libc = openLibrary(functions);
  if (libc === undefined) return undefined;
  const file = createFile(libc);
  if (file === -1) return undefined;
  for (let written = 0; written < bytes.length;) written += writeSync(file, bytes, written);
  if (libc.fcntl(file, F_ADD_SEALS, allSeals) === 0) return `/proc/${process.pid}/fd/${file}`;
  closeSync(file);
  return undefined;
}

type Libc = NonNullable<ReturnType<typeof openLibrary<typeof functions>>>;

function createFile(libc: Libc): number {
  const name = Buffer.from("rg\0");
  // Newer kernels may make such files executable only on request, older ones do not know the request.
  const flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const file = libc.memfd_create(name, flags | MFD_EXEC);
  return file === -1 ? libc.memfd_create(name, flags) : file;
}
