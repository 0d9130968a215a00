import { existsSync, lstatSync } from "node:fs";
import { join } from "node:path";
import { unlessAborted } from "../../async/unlessaborted.ts";
import type { Backend } from "../../sandbox/backend.ts";
import type { Policy } from "../../sandbox/policy/policy.ts";
import { isBelow } from "../../files/path.ts";
import { describeFinding, levelOf, type RepositoryFinding } from "../../trust/repositories/finding.ts";
import { Guard } from "../../trust/repositories/guard.ts";
import { guardedParts } from "../../trust/repositories/parts.ts";
import { ProtectedPaths } from "../../trust/repositories/protected.ts";
import type { Notice, RepositoryGuard } from "../../engine/turn.ts";
import { NewRepositories } from "../../trust/repositories/newrepositories.ts";
import { ownPlace } from "./ownplace.ts";

/**
 * Guards repositories: those that exist when the run starts are protected in every command, and new ones are inspected
 * after each. The first walk through the writable roots starts with the run; no call that may write starts before it is
 * over.
 */
export type Repositories = RepositoryGuard & {
  /** Called when everything has stopped. */
  last(): Promise<readonly Notice[]>;
};

type GuardOptions = { policy: Policy; backend: Backend; dataDirectory: string | undefined };

export function guardRepositories({ policy, backend, dataDirectory }: GuardOptions): Repositories {
  // Without a sandbox a command can tamper with any file anyway.
  if (backend.filesystem === "open") return { before: async () => {}, after: async () => [], last: async () => [] };
  const life = new AbortController();
  const open = openRepository(policy);
  const quarantine = join(ownPlace(policy, dataDirectory, { lasting: true }), "koda-quarantine");
  const handling = { quarantine, open };
  const first = ProtectedPaths.find(policy.write, life.signal, { except: [quarantine] }).then((paths) => {
    protect(paths);
    const guard = new Guard(paths, { ...handling, isMounted: !backend.guards });
    return { paths, guard, newcomers: new NewRepositories(paths, handling) };
  });
  // A failure is raised by whoever awaits it before the first write.
  first.catch(() => undefined);
  let isUsed = false;

  return {
    async before(signal) {
      const { guard } = await unlessAborted(first, signal);
      isUsed = true;
      await guard.begin();
    },

    after: async () => look(await (await first).guard.end()),

    async last() {
      if (isUsed) return look(await (await first).guard.restore());
      life.abort();
      return [];
    },
  };

  async function look(restored: readonly RepositoryFinding[]): Promise<readonly Notice[]> {
    const { paths, newcomers } = await first;
    const found = await newcomers.look(life.signal);
    protect(paths);
    return [...restored, ...found].map((finding) => noticeOf(finding, policy));
  }

  function protect(paths: ProtectedPaths): void {
    backend.protect(open === undefined ? paths.paths : [...outside(paths.paths, open), ...guardedParts(open)]);
  }
}

/** The git directory that commands may commit to: the project's own. */
function openRepository({ root, allowGit }: Policy): string | undefined {
  const own = join(root, ".git");
  return allowGit && existsSync(own) && lstatSync(own).isDirectory() ? own : undefined;
}

/** The reason why `--allow-git` has no effect here. A project without a `.git` has none: commands may create one. */
export function whyGitStaysClosed({ root, allowGit }: Policy): string | undefined {
  const stats = lstatSync(join(root, ".git"), { throwIfNoEntry: false });
  if (!allowGit || stats === undefined || stats.isDirectory()) return undefined;
  const what = stats.isSymbolicLink() ? "a symlink" : "a file, as in a linked work tree or a submodule";
  return `--allow-git opens only a .git directory, and the project's is ${what}: commands cannot commit`;
}

function outside(paths: readonly string[], directory: string): string[] {
  return paths.filter((path) => !isBelow(path, directory));
}

function noticeOf(finding: RepositoryFinding, policy: Policy): Notice {
  const message = describeFinding(finding, policy);
  return { type: "notice", level: levelOf(finding), code: "repository", message };
}
