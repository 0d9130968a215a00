import { z } from "zod";
import { storeFailure } from "./database.ts";
import { itemSchema, type LoggedItem } from "./item.ts";
import type { ItemRow } from "./log.ts";

/** Loads zod: only for reading what an earlier process wrote. */
export type DecodeItem = (path: string, row: ItemRow) => LoggedItem;

/** Makes an item of its row. Keys that are not known are left out, an unknown kind is refused. */
export function decodeItem(path: string, { seq, turn, at, body }: ItemRow): LoggedItem {
  const decoded = itemSchema.safeParse(parsed(body));
  if (!decoded.success) {
    const problem = z.prettifyError(decoded.error).replaceAll(/\s+/g, " ");
    throw storeFailure(
      path,
      `its item ${seq} makes no sense to this koda (${problem}). Update koda, or remove the session`,
    );
  }
  return { seq, turn, at: new Date(at).toISOString(), ...decoded.data };
}

/** Text that is not JSON becomes what no item can be, so that both mistakes are told in one way. */
function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}
