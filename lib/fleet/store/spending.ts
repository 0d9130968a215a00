import type { Rows, SqlValue } from "./database.ts";
import { first } from "./rows.ts";
import type { Spending } from "../store.ts";

export type StoredSpending = { cost: number; tokens: number; unpriced: number };

/** The values of `cost`, `tokens` and `unpriced`. */
export function columnsOf({ costUsd, tokens, isUnpriced = false }: Spending): SqlValue[] {
  return [costUsd, tokens, isUnpriced ? 1 : 0];
}

/** The sums of these columns. */
export const sumsOfSpending =
  "COALESCE(SUM(cost), 0) AS cost, COALESCE(SUM(tokens), 0) AS tokens, COALESCE(MAX(unpriced), 0) AS unpriced";

/** By all attempts of a task. */
export async function spentOn(rows: Rows, batch: string, key: string): Promise<Spending> {
  const stored = await first<StoredSpending>(
    rows,
    `SELECT ${sumsOfSpending} FROM batch_attempt WHERE batch = $1 AND key = $2`,
    [batch, key],
  );
  return decodeSpending(stored ?? { cost: 0, tokens: 0, unpriced: 0 });
}

export function decodeSpending({ cost, tokens, unpriced }: StoredSpending): Spending {
  return { costUsd: cost, tokens, isUnpriced: unpriced > 0 };
}
