import type { Assembly } from "../../assembly/assembly.ts";

/** Those of the kernel's that commands may keep, and those that it takes to give them that, by their bits. */
const bits = { CHOWN: 0, DAC_OVERRIDE: 1, FOWNER: 3, SETGID: 6, SETUID: 7 } as const;
export type Capability = keyof typeof bits;

/** _LINUX_CAPABILITY_VERSION_3 */
const version = 0x20080522;
const PR_SET_NO_NEW_PRIVS = 38;

export function maskOf(capabilities: readonly Capability[]): bigint {
  return capabilities.reduce((mask, name) => mask | (1n << BigInt(bits[name])), 0n);
}

/**
 * Gives up all capabilities but these, for user 0 too, without a way to get one back: with no_new_privs an execve as
 * user 0 gives no more than was permitted before it.
 */
export function keepOnly(program: Assembly, kept: readonly Capability[]): void {
  const header = new Uint8Array(new Uint32Array([version, 0]).buffer);
  // Effective, permitted, inheritable: the lower 32 of each, then the upper ones, of which none is ever kept.
  const mask = Number(maskOf(kept));
  const sets = new Uint8Array(new Uint32Array([mask, mask, 0, 0, 0, 0]).buffer);
  program.step("capset", [program.bytes(header), program.bytes(sets)], { must: "capset" });
  program.step("prctl", [PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0], { must: "prctl(NO_NEW_PRIVS)" });
}
