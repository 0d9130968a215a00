import { isBelow } from "../files/path.ts";
import type { Claim } from "../trust/claim.ts";

/**
 * Splits the calls of one reply into waves: the calls of a wave run together, the waves one after another, and no call
 * overtakes another that it could depend on. A call that only reads may depend on anything written before it.
 */
export function waves<T extends { claim: Claim }>(calls: readonly T[]): T[][] {
  const result: T[][] = [];
  for (const call of calls) {
    const wave = result.at(-1);
    if (wave !== undefined && wave.every((other) => independent(other.claim, call.claim))) wave.push(call);
    else result.push([call]);
  }
  return result;
}

function independent(a: Claim, b: Claim): boolean {
  if (a.writes === "unknown" || b.writes === "unknown") return false;
  if (a.writes.length === 0 && b.writes.length === 0) return true;
  if (a.effect === "read" || b.effect === "read") return false;
  const { writes } = b;
  return a.writes.every((path) => writes.every((other) => !overlap(path, other)));
}

function overlap(a: string, b: string): boolean {
  return isBelow(a, b) || isBelow(b, a);
}
