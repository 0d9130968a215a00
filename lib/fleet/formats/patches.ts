import type { ResultSet } from "../results/resultset.ts";

/** Hands every patch over, with the name of its file. */
export async function eachPatch(
  { rows, patch }: ResultSet,
  take: (name: string, bytes: Uint8Array) => void,
): Promise<number> {
  let number = 0;
  for await (const { key, patch: hasPatch } of rows()) {
    const bytes = hasPatch ? await patch(key) : undefined;
    if (bytes === undefined) continue;
    take(patchName(key), bytes);
    number += 1;
  }
  return number;
}

/** A key has no slash and does not begin with a dot. */
export function patchName(key: string): string {
  return `${key}.patch`;
}
