import type { Assembly, StepOptions } from "../../assembly/assembly.ts";

/** AT_FDCWD: the program's own directory. */
export const here = -100;
/** O_PATH | O_CLOEXEC: to name what lies at a path, and nothing else. */
export const asPlace = 0o12000000;
export const RESOLVE_NO_SYMLINKS = 4;
/** struct open_how: flags, mode, resolve */
export const [howBytes, resolveAt] = [24, 16] as const;

/** Fails where there is a symlink on the way, which a command may have put in the place of a directory. */
export function openWithoutLinks(program: Assembly, path: string, options: StepOptions): void {
  const how = program.words(asPlace, 0, RESOLVE_NO_SYMLINKS);
  program.step("openat2", [here, program.text(path), how, howBytes], options);
}
