import { z } from "zod";
import { parseJson } from "../config/json.ts";
import { storeFailure } from "./database.ts";
import { itemSchema, type LoggedItem } from "./item.ts";
import type { ItemRow } from "./log.ts";

/** Passed as a value, since its module loads zod, which only the log of an earlier process needs. */
export type DecodeItem = (path: string, row: ItemRow) => LoggedItem;

/** Makes an item of its row. Unknown keys are left out, an unknown kind is refused. */
export function decodeItem(path: string, { seq, turn, at, body }: ItemRow): LoggedItem {
  const decoded = itemSchema.safeParse(parseJson(body));
  if (!decoded.success) {
    const problem = z.prettifyError(decoded.error).replaceAll(/\s+/g, " ");
    throw storeFailure(
      path,
      `item ${seq} of a session cannot be read (${problem}). Update koda, or remove the session`,
    );
  }
  return { seq, turn, at: new Date(at).toISOString(), ...decoded.data };
}
