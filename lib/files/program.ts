import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { unlessRefused } from "../errors.ts";
import { isBelow } from "./path.ts";

/** koda runs some programs with its own rights, so none of them may come from where commands can write. */

/** The directories of a search path that commands cannot write to. */
export function safeSearchPath(searchPath: string, writable: readonly string[]): readonly string[] {
  return searchPath.split(delimiter).filter((directory) => isAbsolute(directory) && !isWritable(directory, writable));
}

/** The first executable with this name that commands cannot replace. */
export function findProgram(
  name: string,
  directories: readonly string[],
  writable: readonly string[],
): string | undefined {
  const programs = directories.map((directory) => join(directory, name));
  return programs.find((program) => isExecutable(program) && !isWritable(program, writable));
}

/** Not Bun.which(), which throws at a path that is too long for the system. */
export function isExecutable(path: string): boolean {
  const isFile = unlessRefused(() => {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  });
  return isFile ?? false;
}

/** Both the path itself and the place that its symlinks lead to must be out of reach. */
export function isWritable(path: string, roots: readonly string[]): boolean {
  const real = unlessRefused(() => realpathSync(path)) ?? path;
  return [path, real].some((place) => roots.some((root) => isBelow(place, root)));
}
