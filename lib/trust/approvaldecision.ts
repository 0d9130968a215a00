/**
 * The answers to a question about a call: allow it once, this tool and effect for the session, or this start of a
 * command from now on; deny it; deny it and end the turn.
 */
export const approvalDecisions = ["once", "session", "prefix", "deny", "abort"] as const;
export type ApprovalDecision = (typeof approvalDecisions)[number];

export function isApproval(decision: ApprovalDecision): boolean {
  return decision !== "deny" && decision !== "abort";
}
