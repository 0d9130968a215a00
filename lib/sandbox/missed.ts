/** A tier that was not taken, and why: the reason is the rest of a sentence, the fix says what would help. */
export type Missed = { tier: string; reason: string; fix?: string };

/** One line for people. */
export function describeMissed({ tier, reason, fix }: Missed): string {
  return `${tier}: ${reason}${fix === undefined ? "" : ` (fix: ${fix})`}`;
}

/** Tiers that were missed for the same reason become one. */
export function mergeMissed(missed: readonly Missed[]): readonly Missed[] {
  const byReason = Map.groupBy(missed, ({ reason, fix }) => JSON.stringify([reason, fix]));
  return [...byReason.values()].flatMap((same) => {
    const [first] = same;
    return first === undefined ? [] : [{ ...first, tier: same.map(({ tier }) => tier).join(", ") }];
  });
}
