import { realpathSync, statSync } from "node:fs";
import { isAbsolute, join, relative } from "node:path";
import { unlessRefused } from "../../errors.ts";
import { isBelow } from "../../files/path.ts";
import { AttemptFailure } from "./failure.ts";
import type { WorkTree } from "./worktree.ts";
import type { FleetTask } from "../task.ts";

/** The directory in which the task is done; it may not lead out of the clone. */
export function workDirectory({ root, isInPlace }: WorkTree, { dir }: FleetTask): string {
  if (isInPlace || dir === undefined) return root;
  const wrong = (why: string) => new AttemptFailure("usage", `Cannot work in "${dir}" of the repository: ${why}`);
  if (isAbsolute(dir) || /(?:^|\/)\.(?:\.|git)(?:\/|$)/i.test(dir)) throw wrong("expected a path below it");
  const real = unlessRefused(() => realpathSync(join(root, dir)));
  if (real === undefined || !statSync(real).isDirectory()) throw wrong("there is no such directory");
  if (!isBelow(real, root)) throw wrong("a symbolic link leads out of it");
  // There a command could write, as in every work directory, to what clones share.
  if (relative(root, real).split("/").includes(".git")) throw wrong("a symbolic link leads into .git");
  return real;
}
