import { parseJson, recordOf, stringIn } from "../config/json.ts";
import { storeFailure } from "./database.ts";
import { type Item, type ItemKind, itemChecks, type LoggedItem } from "./item.ts";
import type { ItemRow } from "./log.ts";

/** The database of a row, and its session when that is known. */
type Source = { path: string; session?: string | undefined };

/** Makes an item of its row. An unknown kind is refused. */
export function decodeItem(row: ItemRow, { path, session }: Source): LoggedItem {
  const { seq, body } = row;
  const item: unknown = parseJson(body);
  if (isItem(item)) return logged(item, row);
  const kind = stringIn(recordOf(item), "kind");
  const isUnknown = kind !== undefined && !Object.hasOwn(itemChecks, kind);
  const problem = isUnknown
    ? `this version of koda does not know the kind "${kind}"`
    : `${body.slice(0, 60)} is not an item that this koda knows`;
  const where = session === undefined ? "a session" : `session "${session}"`;
  throw storeFailure(path, `item ${seq} of ${where} cannot be read (${problem}). Update koda, or remove the session`);
}

/** In place: a long log has many items. */
function logged(item: Item, { seq, turn, at }: ItemRow): LoggedItem {
  const whole = item as LoggedItem;
  whole.seq = seq;
  whole.turn = turn;
  whole.at = at;
  return whole;
}

function isItem(value: unknown): value is Item {
  if (typeof value !== "object" || value === null || !("kind" in value)) return false;
  const { kind } = value;
  return typeof kind === "string" && Object.hasOwn(itemChecks, kind) && itemChecks[kind as ItemKind](value);
}
