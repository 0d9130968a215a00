import { libc } from "../system/libc.ts";
import { syscalls } from "./assembly/syscalls.ts";

/** LANDLOCK_CREATE_RULESET_VERSION: nothing is made, the answer is what the kernel knows. */
const askVersion = 1;
// The same number on every processor.
const [createRuleset] = syscalls.landlock_create_ruleset;

let known: number | undefined;

/** The version of this kernel's Landlock; 0 where there is none, it is off, or the C library cannot be called. */
export function landlockAbi(): number {
  known ??= Math.max(0, Number(libc()?.syscall(createRuleset, null, 0, askVersion) ?? 0));
  return known;
}
