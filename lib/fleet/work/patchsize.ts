import { AttemptFailure } from "./failure.ts";

const mostMebibytes = 64;
export const largestPatch: number = mostMebibytes * 1024 * 1024;

/** A database takes no value of any size, and would be busy with one for minutes. */
export function assertPatchSize(bytes: number): void {
  if (bytes <= largestPatch) return;
  const advice = "let .gitignore name what is built or downloaded";
  throw new AttemptFailure("patch", `The changes are larger than ${mostMebibytes} MiB, which is the most: ${advice}`);
}
