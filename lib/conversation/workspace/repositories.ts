import { lstatSync } from "node:fs";
import { join } from "node:path";
import type { RepositoryGuard } from "../../engine/guard.ts";
import type { Notice } from "../../engine/event.ts";
import type { Policy } from "../../sandbox/policy/policy.ts";
import type { RepositoryWatch, WatchOptions } from "./repositorywatch.ts";

export type Repositories = RepositoryGuard & {
  /** Looks for the repositories that are there, once. No call that may write starts before that is over. */
  begin(): Promise<unknown>;
  /** Called when everything has stopped. */
  last(): Promise<readonly Notice[]>;
  /** After that: the changed files that tell other tools what to run, also those that git ignores. */
  changedConfig(): readonly string[];
};

/** Without a sandbox a command can tamper with any file anyway. */
const unguarded: Repositories = {
  begin: async () => {},
  before: async () => {},
  after: async () => [],
  last: async () => [],
  changedConfig: () => [],
};

export function guardRepositories(options: WatchOptions): Repositories {
  if (options.backend.filesystem === "open") return unguarded;
  let watch: Promise<RepositoryWatch> | undefined;
  let changedConfig: readonly string[] = [];
  // It is much, and no request waits for it.
  const load = async () => new (await import("./repositorywatch.ts")).RepositoryWatch(options);
  const loaded = () => (watch ??= load());
  return {
    begin: async () => (await loaded()).begin(),
    before: async (signal) => (await loaded()).before(signal),
    after: async () => (await loaded()).after(),
    async last() {
      const opened = await watch;
      const notices = (await opened?.last()) ?? [];
      changedConfig = opened?.changedConfig ?? [];
      return notices;
    },
    changedConfig: () => changedConfig,
  };
}

/** The reason why `--allow-git` has no effect here. A project without a `.git` has none: commands may create one. */
export function whyGitStaysClosed({ root, allowGit }: Policy): string | undefined {
  const stats = lstatSync(join(root, ".git"), { throwIfNoEntry: false });
  if (!allowGit || stats === undefined || stats.isDirectory()) return undefined;
  const what = stats.isSymbolicLink() ? "a symlink" : "a file, as in a linked work tree or a submodule";
  return `--allow-git opens only a .git directory, and the project's is ${what}: commands cannot commit`;
}
