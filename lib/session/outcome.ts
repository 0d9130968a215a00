import type { Database } from "./database.ts";
import type { ItemOf } from "./item.ts";
import { isHeld } from "./lease.ts";
import type { SessionInfo } from "./log.ts";

/** The end of a session's latest turn; "interrupted" when its process died before it was recorded. */
export type SessionOutcome = "done" | "failed" | "limit" | "cancelled" | "running" | "interrupted";

const byReason = {
  complete: "done",
  error: "failed",
  limit: "limit",
  cancelled: "cancelled",
} as const satisfies Record<ItemOf<"turn_end">["reason"], SessionOutcome>;

export function outcomeOf(db: Database, { id, ended }: SessionInfo): SessionOutcome {
  if (ended !== null) return byReason[ended];
  return isHeld(db, id) ? "running" : "interrupted";
}
