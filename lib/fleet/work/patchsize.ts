import { AttemptFailure } from "./failure.ts";

const mostMebibytes = 64;
export const largestPatch: number = mostMebibytes * 1024 * 1024;

/** A database takes no value of any size, and would be busy with one for minutes. */
export function assertPatchSize(bytes: number): void {
  if (bytes <= largestPatch) return;
  const advice = "add what is built or downloaded to .gitignore";
  throw new AttemptFailure("patch", `The changes are larger than the limit of ${mostMebibytes} MiB: ${advice}`);
}
