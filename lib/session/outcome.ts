import type { Database } from "./database.ts";
import type { ItemOf } from "./item.ts";
import { isHeld } from "./lease.ts";
import type { SessionInfo } from "./log.ts";

/** The end of a turn; "interrupted" when its process died before it was recorded. */
export type SessionOutcome = "done" | "failed" | "limit" | "cancelled" | "running" | "interrupted";

const byReason = {
  complete: "done",
  error: "failed",
  limit: "limit",
  cancelled: "cancelled",
} as const satisfies Record<ItemOf<"turn_end">["reason"], SessionOutcome>;

/** The end of a session's latest turn; null when it has none, as after a rollback of all. */
export function outcomeOf(db: Database, { id, turns, ended }: SessionInfo): SessionOutcome | null {
  if (ended !== null) return byReason[ended];
  if (isHeld(db, id)) return "running";
  return turns === 0 ? null : "interrupted";
}
