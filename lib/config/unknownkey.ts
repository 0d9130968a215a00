import { nearest } from "../nearest.ts";

/** The problem with a key that a place does not have, and the one that was meant. */
export function unknownKey(name: string, place: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  const hint = meant === undefined ? `the keys there are ${known.join(", ")}` : `did you mean "${meant}"?`;
  return `unknown key ${JSON.stringify(name)} ${place} (${hint})`;
}
