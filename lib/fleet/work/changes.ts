import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { GitError } from "../../git/program.ts";
import { AttemptFailure, endOfFailure, isOldGit } from "./failure.ts";
import { withGitTimeout } from "./gittimeout.ts";
import { assertPatchSize } from "./patchsize.ts";
import type { WorkTree } from "./worktree.ts";

const longestMs = 10 * 60_000;

const never = new AbortController().signal;

/** The changes in a work tree, for `git apply`. Throws an AttemptFailure when they cannot be had. */
export async function changesOf(tree: WorkTree, ms = longestMs): Promise<Uint8Array> {
  // Also of an attempt that ends while the worker is told to stop.
  const limit = { ms, signal: never, code: "patch", what: "Cannot read the changes" } as const;
  try {
    return (await withGitTimeout(limit, async (signal) => await tree.shadow?.patch(signal))) ?? changesOfRuns(tree);
  } catch (error) {
    throw failureOf(error);
  }
}

/** In a directory that koda did not make each run itself writes its changes, to a file of its own. */
export function nextPatchFile({ state }: WorkTree): string {
  return join(state, `run-${patchesOfRuns(state).length + 1}.patch`);
}

/** One after the other, which git apply takes as they come. */
function changesOfRuns({ state }: WorkTree): Uint8Array {
  const files = patchesOfRuns(state);
  assertPatchSize(files.reduce((sum, file) => sum + statSync(file).size, 0));
  return Buffer.concat(files.map((file) => readFileSync(file)));
}

function patchesOfRuns(state: string): string[] {
  const numbers = readdirSync(state).flatMap((name) => /^run-(\d+)\.patch$/.exec(name)?.[1] ?? []);
  return numbers.toSorted((a, b) => Number(a) - Number(b)).map((number) => join(state, `run-${number}.patch`));
}

/** Whatever git does not understand in a tree, a task has put there; a full disk it has not. */
function failureOf(error: unknown): unknown {
  if (!(error instanceof GitError) || wasInterrupted(error) || endOfFailure(error).kind === "fault") return error;
  return new AttemptFailure("patch", `Cannot read the changes: ${error.message}`, error);
}

/** By a signal for the whole process group, as of Ctrl-C, which may come to git before it comes to koda. */
export function wasInterrupted(error: unknown): boolean {
  if (!(error instanceof GitError) || isOldGit(error.exitCode, error.message)) return false;
  return [129, 130, 143].includes(error.exitCode ?? 0);
}
