import type { Assembly, StepOptions } from "../../assembly/assembly.ts";

const currentDirectory = -100;
/** O_PATH | O_CLOEXEC */
const asPlace = 0o12000000;
const RESOLVE_NO_SYMLINKS = 4;
/** struct open_how */
const howBytes = 24;

/** Opens what lies at a path, to name it and nothing else. */
export function openPath(program: Assembly, path: string, options: StepOptions): void {
  program.step("openat", [currentDirectory, program.text(path), asPlace, 0], options);
}

/** Fails where there is a symlink on the way, which a command may have put in the place of a directory. */
export function openWithoutLinks(program: Assembly, path: string, options: StepOptions): void {
  const how = program.words(asPlace, 0, RESOLVE_NO_SYMLINKS);
  program.step("openat2", [currentDirectory, program.text(path), how, howBytes], options);
}
