import type { Database } from "./database.ts";
import { decodeItem } from "./decode.ts";
import type { ItemOf, LoggedItem } from "./item.ts";
import { readItemsAfter, readItemsAt, readMarkers } from "./log.ts";

/**
 * The items of a log that still count, oldest first: none of a turn that was rolled back, and none from before the last
 * compaction but those that it kept. So a long log is read only from there on.
 */
export function readLive(db: Database, session: string): LoggedItem[] {
  return db.read(() => {
    const compaction = lastCompaction(db, session);
    const { seq, kept, tail } = compaction ?? { seq: 0, kept: [], tail: [] };
    const before = seq === 0 ? [] : readItemsAt(db, { session, seqs: [...kept, ...tail, seq] });
    const source = { path: db.path, session };
    const items: LoggedItem[] = [];
    for (const rows of [before, readItemsAfter(db, { session, seq })])
      for (const row of rows) addItem(items, decodeItem(row, source));
    return items;
  });
}

/** The last compaction that was not rolled back. */
function lastCompaction(db: Database, session: string): (ItemOf<"compaction"> & LoggedItem) | undefined {
  let lastTurn = Infinity;
  for (const row of readMarkers(db, session)) {
    const marker = decodeItem(row, { path: db.path, session });
    if (marker.kind === "rollback") lastTurn = Math.min(lastTurn, marker.turn);
    if (marker.kind === "compaction" && marker.turn <= lastTurn) return marker;
  }
  return undefined;
}

/** A rollback takes back the turns after its own. */
function addItem(items: LoggedItem[], item: LoggedItem): void {
  if (item.kind !== "rollback") items.push(item);
  else while ((items.at(-1)?.turn ?? 0) > item.turn) items.pop();
}
