import { errnoOf, exitByCode, KodaError, messageOf } from "../../errors.ts";
import { isLackOfSpace } from "../../files/space.ts";
import { GitError } from "../../git/program.ts";
import { isForLackOfSpace, isForLock } from "../../session/database.ts";
import type { AttemptEnd } from "../store.ts";

/**
 * Why an attempt could not be made, beside the failures of `koda exec` itself, with its exit code: the first three are
 * the machine's fault, the others the task's.
 */
export const failures = {
  git: { exit: 7, kind: "fault" },
  machine: { exit: 7, kind: "fault" },
  disk: { exit: 10, kind: "fault" },
  repository: { exit: 1, kind: "exit" },
  unreachable: { exit: 9, kind: "wait" },
  publish: { exit: 3, kind: "exit" },
  patch: { exit: 3, kind: "exit" },
  usage: { exit: 2, kind: "exit" },
} as const;

export class AttemptFailure extends Error {
  override readonly name = "AttemptFailure";
  readonly code: keyof typeof failures;

  constructor(code: keyof typeof failures, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

/** Exit codes of `koda exec` for which the task is not to blame: credentials, the sandbox, the database, the output. */
const faultExits: ReadonlySet<number> = new Set([4, 7, 10, 11]);

export function kindOfExit(exit: number): "exit" | "fault" {
  return faultExits.has(exit) ? "fault" : "exit";
}

type Failed = Pick<AttemptEnd, "exit" | "kind" | "error">;

/** The end of an attempt in which something was thrown. Anything that is not known is a bug. */
export function endOfFailure(error: unknown): Failed {
  if (isDiskFull(error)) return { ...failures.disk, error: { code: "disk", message: messageOf(error) } };
  if (exhausted.has(errnoOf(error) ?? ""))
    return { ...failures.machine, error: { code: "machine", message: messageOf(error) } };
  if (error instanceof GitError && isOldGit(error.exitCode, error.message))
    return { ...failures.git, error: { code: "git", message: oldGitProblem(error.message) } };
  if (error instanceof AttemptFailure) {
    const { code, message } = error;
    return { ...failures[code], error: { code, message } };
  }
  const code = error instanceof KodaError ? error.code : "internal";
  const exit = exitByCode[code];
  const end = isForLock({ code, message: messageOf(error) }) ? failures.unreachable : { exit, kind: kindOfExit(exit) };
  return { ...end, error: { code, message: traceOf(error) } };
}

export function oldGitProblem(said: string): string {
  return `git is too old: koda needs 2.29 or later (${said})`;
}

/** The words of a git that is older than koda needs: it does not know an option. */
export function isOldGit(status: unknown, said: string): boolean {
  return status === 129 && /^(?:.*: )?error: unknown (?:option|switch) /m.test(said);
}

/** The machine, or koda's share of it, has no more processes, files or memory. */
const exhausted: ReadonlySet<string> = new Set(["EAGAIN", "EMFILE", "ENFILE", "ENOMEM"]);

/** The message of a failure; a bug has its stack, which not always has the message. */
export function traceOf(error: unknown): string {
  const message = messageOf(error);
  if (error instanceof KodaError || !(error instanceof Error)) return message;
  const { stack = "" } = error;
  return stack.includes(message) ? stack : `${message}\n${stack}`;
}

function isDiskFull(error: unknown): boolean {
  if (error instanceof GitError) return error.isForLackOfSpace;
  return isLackOfSpace(error) || isForLackOfSpace(error);
}
