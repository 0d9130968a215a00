import type { Database } from "./database.ts";
import { decodeItem } from "./decode.ts";
import type { ItemOf, LoggedItem } from "./item.ts";
import { type ItemRow, readItemsAfter, readItemsAt, readMarkers } from "./log.ts";

/**
 * The items of a log that still count, oldest first: none of a turn that was rolled back, and none from before the last
 * compaction but those that it kept. So a long log is read only from there on.
 */
export function readLive(db: Database, session: string): LoggedItem[] {
  return db.read(() => {
    const compaction = lastCompaction(db, session);
    const { seq, kept, tail } = compaction ?? { seq: 0, kept: [], tail: [] };
    const before = seq === 0 ? [] : readItemsAt(db, { session, seqs: [...kept, ...tail, seq] });
    return surviving([...before, ...readItemsAfter(db, { session, seq })], (row) => decodeItem(db.path, row));
  });
}

/** The last compaction that was not rolled back. */
function lastCompaction(db: Database, session: string): (ItemOf<"compaction"> & LoggedItem) | undefined {
  let lastTurn = Infinity;
  for (const row of readMarkers(db, session)) {
    const marker = decodeItem(db.path, row);
    if (marker.kind === "rollback") lastTurn = Math.min(lastTurn, marker.turn);
    if (marker.kind === "compaction" && marker.turn <= lastTurn) return marker;
  }
  return undefined;
}

function surviving(rows: readonly ItemRow[], decoded: (row: ItemRow) => LoggedItem): LoggedItem[] {
  const items: LoggedItem[] = [];
  for (const row of rows) {
    const item = decoded(row);
    if (item.kind !== "rollback") items.push(item);
    else while ((items.at(-1)?.turn ?? 0) > item.turn) items.pop();
  }
  return items;
}
