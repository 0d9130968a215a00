import { accessSync, constants, statSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { unlessRefused } from "../../../errors.ts";
import { isBelow } from "../../../files/path.ts";
import { Unavailable } from "../unavailable.ts";

const usual = ["/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin"];

/** bubblewrap, where the system has it; never one that lies where commands can write, as a project's own tools do. */
export function findBwrap(searchPath = "", writable: readonly string[] = []): string {
  const directories = [...usual, ...searchPath.split(":").filter((directory) => isAbsolute(directory))];
  const found = directories
    .filter((directory) => !writable.some((root) => isBelow(directory, root)))
    .map((directory) => join(directory, "bwrap"))
    .find(isProgram);
  if (found !== undefined) return found;
  throw new Unavailable("bubblewrap is not installed", "install the package bubblewrap");
}

function isProgram(path: string): boolean {
  const isFile = unlessRefused(() => {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  });
  return isFile ?? false;
}
