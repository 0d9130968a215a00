import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { unlessRefused } from "../../errors.ts";
import { GitError } from "../../git/program.ts";
import { assertPatchSize } from "./basis.ts";
import { AttemptFailure, endOfFailure } from "./failure.ts";
import type { WorkPlace } from "./place.ts";

const limitMs = 10 * 60_000;

/** The changes of a place, for `git apply`. Throws an AttemptFailure when they cannot be had. */
export async function changesOf(place: WorkPlace): Promise<Uint8Array> {
  try {
    // Also of an attempt that ends while the worker is told to stop.
    return (await place.basis?.patch(AbortSignal.timeout(limitMs))) ?? changesOfRun(place);
  } catch (error) {
    throw failureOf(error);
  }
}

/** For a directory that koda did not make, where a run itself writes its changes. */
export function patchFile({ state }: WorkPlace): string {
  return join(state, "run.patch");
}

function changesOfRun(place: WorkPlace): Uint8Array {
  assertPatchSize(unlessRefused(() => statSync(patchFile(place)).size) ?? 0);
  return unlessRefused(() => new Uint8Array(readFileSync(patchFile(place)))) ?? new Uint8Array();
}

/** Whatever git does not understand in a tree, a task has put there; a full disk it has not. */
function failureOf(error: unknown): unknown {
  if (!(error instanceof GitError) || wasInterrupted(error) || endOfFailure(error).kind === "fault") return error;
  return new AttemptFailure("patch", `The changes cannot be read: ${error.message}`, error);
}

/** By a signal for the whole process group, as of Ctrl-C, which may come to git before it comes to koda. */
export function wasInterrupted(error: unknown): boolean {
  return error instanceof GitError && /exit code (?:129|130|143)\b/.test(error.message);
}
