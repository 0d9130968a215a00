import { type Claim, effects } from "../claim.ts";

/** More than reading, on things that are no files, or on files that cannot be named. */
export const unknownWrite: Claim = { effect: "write", writes: "unknown" };

export const remote: Claim = { effect: "remote", writes: "unknown" };

export const destructive = (reason: string): Claim => ({ effect: "destructive", writes: "unknown", reason });

/** The claim of a command that does all of these. */
export function together(claims: readonly Claim[]): Claim {
  const outside = claims.find((claim) => claim.outside !== undefined)?.outside;
  const reason = claims.find((claim) => claim.reason !== undefined)?.reason;
  return {
    effect: effects.findLast((effect) => claims.some((claim) => claim.effect === effect)) ?? "read",
    writes: allOf(claims.map(({ writes }) => writes)),
    ...(outside !== undefined && { outside }),
    ...(reason !== undefined && { reason }),
  };
}

function allOf(writes: readonly Claim["writes"][]): Claim["writes"] {
  const paths = new Set<string>();
  for (const some of writes) {
    if (some === "unknown") return "unknown";
    for (const path of some) paths.add(path);
  }
  return [...paths];
}
