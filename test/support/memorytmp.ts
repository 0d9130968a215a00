import { availableMemory } from "node:process";

/** More than the tests ever have there at once. */
const mebibytes = 4096;

/**
 * A command whose TMPDIR is this directory, in memory: on a disk, making and removing so many small files takes as long
 * as the tests themselves. It is mounted for the command alone, which only root may do, and not on a small machine.
 */
export function withMemoryTmp(
  directory: string,
  command: readonly string[],
): { command: string[]; env: Record<string, string> } {
  const mount = `mount -t tmpfs -o size=${mebibytes}m,mode=1777 tests "$0" && exec "$@"`;
  const wrapped = (words: readonly string[]) => ["unshare", "--mount", "sh", "-c", mount, directory, ...words];
  const hasRoom = availableMemory() > 2 * mebibytes * 1024 * 1024;
  const mayMount = () => Bun.which("unshare") !== null && Bun.spawnSync(wrapped(["true"])).success;
  if (!hasRoom || !mayMount()) return { command: [...command], env: {} };
  return { command: wrapped(command), env: { TMPDIR: directory } };
}
