import type { ResultSet } from "../results/resultset.ts";

/** Hands the patch of every task over, if it has one, with the name of its file; returns the number of patches. */
export async function eachPatch(
  { rows, patch }: ResultSet,
  take: (name: string, bytes: Uint8Array | undefined) => void,
): Promise<number> {
  let number = 0;
  for await (const { key, patch: hasPatch } of rows()) {
    const bytes = hasPatch ? await patch(key) : undefined;
    take(patchName(key), bytes);
    if (bytes !== undefined) number += 1;
  }
  return number;
}

/** A key has no slash and does not begin with a dot. */
export function patchName(key: string): string {
  return `${key}.patch`;
}
