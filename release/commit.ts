/** The commit that is released. */
export type Commit = {
  hash: string;
  /** The committer's time: every file of a release has it. */
  seconds: number;
};

/** Throws when the work tree is not as it was committed: nobody could build the same again. */
export function currentCommit(): Commit {
  const changed = git("status", "--porcelain");
  if (changed !== "")
    throw new Error(`The work tree has changes that are not committed; commit or stash them:\n${changed}`);
  const [hash = "", seconds] = git("log", "-1", "--format=%H %ct").split(" ");
  return { hash, seconds: Number(seconds) };
}

function git(...args: string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(["git", ...args], { stdout: "pipe", stderr: "pipe" });
  if (exitCode !== 0) throw new Error(`git ${args.join(" ")} exited ${exitCode}: ${stderr.toString().trim()}`);
  return stdout.toString().trim();
}
