import { dlopen, type FFIFunction, ptr, read } from "bun:ffi";

/** By the names that the C library goes by on Linux. */
const names = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

/**
 * Functions of the C library that Bun has no name for. Undefined where it cannot be called, on another system or
 * without the JIT that calls need: every caller has a way without.
 */
export function openLibrary<const Functions extends Record<string, FFIFunction>>(functions: Functions) {
  if (process.platform !== "linux") return undefined;
  for (const name of names) {
    try {
      return dlopen(name, functions).symbols;
    } catch {
      // Not this machine's library: the next name may be.
      continue;
    }
  }
  return undefined;
}

/** The address of a buffer, for a structure that holds it: the buffer has to be kept until the call is over. */
export const addressOf = ptr;

/** Reads what lies at an address that the C library gave. */
export const readAt = read;
