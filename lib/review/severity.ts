/** From the least to the most severe. */
export const severities = ["info", "low", "medium", "high", "critical"] as const;
export type Severity = (typeof severities)[number];

export function rankOf(severity: Severity): number {
  return severities.indexOf(severity);
}
