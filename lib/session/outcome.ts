import type { Database } from "./database.ts";
import type { ItemKind, ItemOf } from "./item.ts";
import { isHeld } from "./lease.ts";

/** The end of a session's latest turn; "interrupted" when its process died before it was recorded. */
export type SessionOutcome = "done" | "failed" | "limit" | "cancelled" | "running" | "interrupted";

const byReason = {
  complete: "done",
  error: "failed",
  limit: "limit",
  cancelled: "cancelled",
} as const satisfies Record<ItemOf<"turn_end">["reason"], SessionOutcome>;

type Row = { id: string; kind: ItemKind; reason: keyof typeof byReason | null };

/** The outcome of each session with items. A turn that has ended is the last item of the log. */
export function outcomesIn(db: Database): Map<string, SessionOutcome> {
  const rows = db.all<Row>(
    `SELECT session.id, item.kind, json_extract(content.body, '$.reason') AS reason
       FROM session JOIN item ON item.session = session.id AND item.seq = session.length
         JOIN content ON content.id = item.content`,
  );
  return new Map(rows.map((row) => [row.id, outcomeOf(db, row)]));
}

function outcomeOf(db: Database, { id, kind, reason }: Row): SessionOutcome {
  if (kind === "turn_end" && reason !== null) return byReason[reason];
  return isHeld(db, id) ? "running" : "interrupted";
}
