import { z } from "zod";
import { readJson } from "../../config/json.ts";
import { KodaError } from "../../errors.ts";
import type { Account } from "./budget.ts";
import type { Rows } from "./database.ts";
import { first, firstIssue } from "./rows.ts";
import { keyPattern } from "../task.ts";
import { type BatchSettings, type BatchState, transcriptKinds } from "../store.ts";

const settingsSchema = z.strictObject({
  retries: z.number(),
  keepGoing: z.boolean(),
  maxCost: z.number().exactOptional(),
  maxTokens: z.number().exactOptional(),
  transcripts: z.enum(transcriptKinds),
  leaseMs: z.number(),
  list: z
    .strictObject({ digest: z.string(), total: z.number(), shard: z.number(), shards: z.number() })
    .exactOptional(),
});

export type BatchRow = {
  id: string;
  submittedAt: number;
  settings: BatchSettings;
  total: number;
  state: BatchState;
  account: Account;
};

type Stored = {
  id: string;
  submitted_at: number;
  settings: string;
  total: number;
  state: BatchState;
  spent_cost: number;
  spent_tokens: number;
  reserved_cost: number;
  reserved_tokens: number;
  finished: number;
};

export async function readBatch(rows: Rows, id: string): Promise<BatchRow> {
  const stored = await first<Stored>(rows, "SELECT * FROM batch WHERE id = $1", [id]);
  if (stored === undefined) throw noSuchBatch(id);
  return readable(stored);
}

/** Newest first. Those that cannot be read, which a newer koda may have submitted, are told of. */
export async function readBatches(rows: Rows, onProblem: (message: string) => void): Promise<BatchRow[]> {
  const stored = await rows.all<Stored>("SELECT * FROM batch ORDER BY submitted_at DESC, id DESC");
  return stored.flatMap((each) => {
    const batch = decodeBatch(each);
    if (!("problem" in batch)) return batch;
    onProblem(unreadable(each, batch.problem).message);
    return [];
  });
}

/**
 * Those in which something may begin or has not ended yet, also when its attempt has been given up. Oldest first: a
 * worker of any batch finishes what has begun. One whose settings cannot be read is left to others, which may be newer.
 */
export async function liveBatches(rows: Rows): Promise<BatchRow[]> {
  const stored = await rows.all<Stored>(
    `SELECT * FROM batch WHERE state = 'open' OR (state <> 'over' AND EXISTS (
       SELECT 1 FROM batch_task AS task WHERE task.batch = batch.id AND task.state = 'running'))
     ORDER BY submitted_at, id`,
  );
  return stored.map(decodeBatch).flatMap((batch) => ("problem" in batch ? [] : batch));
}

/** The batch with this id, or with the only one that begins so. */
export async function findBatch(rows: Rows, idOrPrefix: string): Promise<string> {
  const ids = await rows.all<{ id: string }>("SELECT id FROM batch WHERE substr(id, 1, $1) = $2 ORDER BY id LIMIT 4", [
    idOrPrefix.length,
    idOrPrefix,
  ]);
  const exact = ids.find(({ id }) => id === idOrPrefix) ?? (ids.length === 1 ? ids[0] : undefined);
  if (exact !== undefined) return exact.id;
  if (ids.length === 0) throw noSuchBatch(idOrPrefix);
  const shown = ids.map(({ id }) => id).join(", ");
  throw new KodaError("batch_not_found", `Batch id "${idOrPrefix}" is ambiguous: ${shown}`);
}

function noSuchBatch(id: string): KodaError {
  return new KodaError(
    "batch_not_found",
    `No batch "${id}" in this store: see koda batch status, and check --store and KODA_STORE`,
  );
}

function readable(stored: Stored): BatchRow {
  const batch = decodeBatch(stored);
  if (!("problem" in batch)) return batch;
  throw unreadable(stored, batch.problem);
}

function unreadable({ id }: Stored, problem: string): KodaError {
  const advice = "Update koda if a newer one has submitted it.";
  return new KodaError("store", `Cannot read batch "${id}" in the store: ${problem}. ${advice}`);
}

function decodeBatch(stored: Stored): BatchRow | { problem: string } {
  // Work trees lie in a directory of this name.
  if (!keyPattern.test(stored.id)) return { problem: "its id is not one made by koda" };
  const { value, problem } = readJson(stored.settings);
  const { data: settings, error } = settingsSchema.safeParse(value);
  if (settings === undefined) return { problem: problem ?? firstIssue(error) };
  const account: Account = {
    spent: { costUsd: stored.spent_cost, tokens: stored.spent_tokens },
    reserved: { costUsd: stored.reserved_cost, tokens: stored.reserved_tokens },
    finished: stored.finished,
  };
  const { id, submitted_at: submittedAt, total, state } = stored;
  return { id, submittedAt, settings, total, state, account };
}
