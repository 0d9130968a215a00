import { join, resolve } from "node:path";
import { counted } from "../counted.ts";
import { errnoOf, KodaError, messageOf } from "../errors.ts";
import { GitError } from "../git/program.ts";
import type { Policy } from "../sandbox/policy/policy.ts";
import { isHidden } from "../sandbox/policy/reach.ts";
import { patchPlaceOf } from "../worktree/repository.ts";
import { visibleLine } from "../visible.ts";
import { type ChangedFile, listChanges } from "./changes.ts";
import { compareTarget, type Comparison, type ComparisonOptions } from "./comparison.ts";
import { linesOfChanges, linesOfProject, type ReadLines } from "./places.ts";
import { describeTarget, type ReviewTarget } from "./target.ts";

/** A target that was found, with the files that differ; a target of words has none. */
export type Subject = {
  target: ReviewTarget;
  root: string;
  /** The place of the project in its repository: empty, or with a slash at its end. */
  prefix: string;
  comparison?: Comparison;
  files: readonly ChangedFile[];
  read: ReadLines;
};

/** Finds what is to be reviewed. Throws a usage error when there is no such thing. */
export async function openSubject(
  target: ReviewTarget,
  options: ComparisonOptions,
  signal: AbortSignal,
): Promise<Subject> {
  const { root } = options;
  const { prefix } = patchPlaceOf(root);
  if (target.kind === "text") return { target, root, prefix, files: [], read: linesOfProject(root) };
  try {
    const comparison = await compareTarget(target, options, signal);
    const files = await listChanges(comparison);
    return { target, root, prefix, comparison, files, read: linesOfChanges(comparison, files) };
  } catch (error) {
    if (error instanceof KodaError || (!(error instanceof GitError) && errnoOf(error) === undefined)) throw error;
    throw new KodaError("usage", `Cannot find ${describeTarget(target)}: ${messageOf(error)}`, { cause: error });
  }
}

/** The subject without what the user keeps from the tools of a run. */
export function hideFiles(subject: Subject, policy: Policy): Subject {
  const isSecret = ({ path, from = path }: ChangedFile) =>
    [path, from].some((name) => isHidden(join(subject.root, name), policy));
  const files = subject.files.map((file) => (isSecret(file) ? { ...file, leftOut: "hidden" } : file));
  // The fingerprint of a finding tells of the line that it is about.
  const read: ReadLines = async (path) =>
    isHidden(resolve(subject.root, path), policy) ? undefined : await subject.read(path);
  return { ...subject, files, read };
}

/** The files whose changes a reviewer is shown. */
export function shownIn({ files }: Subject): readonly ChangedFile[] {
  return files.filter(({ leftOut }) => leftOut === undefined);
}

/** Why there is nothing to review; undefined when there is something. */
export function whyNothing(subject: Subject): string | undefined {
  const { target, files } = subject;
  if (target.kind === "text" || shownIn(subject).length > 0) return undefined;
  const where = describeTarget(target);
  if (files.length === 0) return `There is nothing to review: ${where} ${noneOf[target.kind]}`;
  return `There is nothing to review in ${where}. ${leftOutWords(files)}`;
}

const noneOf = { uncommitted: "are none", base: "are none", commit: "changes no file here" } as const;

const mostNames = 5;

/** Names the files whose contents are not sent. */
export function leftOutWords(files: readonly ChangedFile[]): string {
  const left = files.filter(({ leftOut }) => leftOut !== undefined);
  const named = left.slice(0, mostNames).map(({ path, leftOut }) => `${visibleLine(path)} (${leftOut})`);
  const more = left.length - named.length;
  return `Not read: ${[...named, ...(more > 0 ? [counted(more, "more file")] : [])].join(", ")}`;
}
