import { parseJson, recordOf, stringIn } from "../config/json.ts";
import type { KodaError } from "../errors.ts";
import { storeFailure } from "./database.ts";
import { type Item, itemChecks, type LoggedItem } from "./item.ts";
import type { ItemRow } from "./log.ts";

/** The database of a row, and its session when that is known. */
type Source = { path: string; session?: string | undefined };

/** Makes an item of its row. An unknown kind is refused. */
export function decodeItem(row: ItemRow, source: Source): LoggedItem {
  const item: unknown = parseJson(row.body);
  if (!isItem(item)) throw unreadable(item, row, source);
  // In place: a long log has many items.
  const logged = item as LoggedItem;
  logged.seq = row.seq;
  logged.turn = row.turn;
  logged.at = row.at;
  return logged;
}

function unreadable(item: unknown, { seq, body }: ItemRow, { path, session }: Source): KodaError {
  const kind = stringIn(recordOf(item), "kind");
  const isUnknown = kind !== undefined && !Object.hasOwn(itemChecks, kind);
  const problem = isUnknown
    ? `this version of koda does not know the kind "${kind}"`
    : `${body.slice(0, 60)} is not an item that this koda knows`;
  const where = session === undefined ? "a session" : `session "${session}"`;
  return storeFailure(path, `item ${seq} of ${where} cannot be read (${problem}). Update koda, or remove the session`);
}

const checks: ReadonlyMap<unknown, (value: unknown) => boolean> = new Map(Object.entries(itemChecks));

function isItem(value: unknown): value is Item {
  if (typeof value !== "object" || value === null || !("kind" in value)) return false;
  const check = checks.get(value.kind);
  return check !== undefined && check(value);
}
