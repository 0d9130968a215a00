import { z } from "zod";
import { parseJson, recordOf, stringIn } from "../config/json.ts";
import { storeFailure } from "./database.ts";
import { itemSchema, type LoggedItem } from "./item.ts";
import type { ItemRow } from "./log.ts";

/** Passed as a value, since its module loads zod, which only the log of an earlier process needs. */
export type DecodeItem = (path: string, row: ItemRow) => LoggedItem;

/** Makes an item of its row. Unknown keys are left out, an unknown kind is refused. */
export function decodeItem(path: string, { session, seq, turn, at, body }: ItemRow): LoggedItem {
  const item = parseJson(body);
  const decoded = itemSchema.safeParse(item);
  if (decoded.success) return { seq, turn, at: new Date(at).toISOString(), ...decoded.data };

  const kind = stringIn(recordOf(item), "kind");
  const isUnknown = kind !== undefined && decoded.error.issues.some(({ path: [key] }) => key === "kind");
  const problem = isUnknown
    ? `this version of koda does not know the kind "${kind}"`
    : z.prettifyError(decoded.error).replaceAll(/\s+/g, " ");
  throw storeFailure(
    path,
    `item ${seq} of session "${session}" cannot be read (${problem}). Update koda, or remove the session`,
  );
}
