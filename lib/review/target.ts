/** The thing to review. */
export type ReviewTarget =
  /** Staged, unstaged and untracked changes. */
  | { kind: "uncommitted" }
  /** The commits of the current branch that `base` does not have. */
  | { kind: "base"; base: string }
  | { kind: "commit"; commit: string }
  /** No changes: whatever these words name. */
  | { kind: "text"; text: string };

/** A target in words, as in "a review of …". */
export function describeTarget(target: ReviewTarget): string {
  switch (target.kind) {
    case "uncommitted":
      return "the uncommitted changes";
    case "base":
      return `the changes since "${target.base}"`;
    case "commit":
      return `the commit "${target.commit}"`;
    case "text":
      return target.text;
    default:
      return target satisfies never;
  }
}
