import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { unlessRefused } from "../../errors.ts";
import { isProcessGone, thisProcess } from "../../session/process.ts";

const recordSchema = z.object({
  /** The process that works there; it is free when there is none. */
  owner: z.object({ pid: z.number(), started: z.string(), host: z.string(), machine: z.string() }).nullable(),
  attempt: z.number(),
  session: z.string(),
  root: z.string(),
});

type TreeRecord = z.infer<typeof recordSchema>;
type Contents = Omit<TreeRecord, "owner">;

const recordName = "record.json";

/** This process works there. */
export function takeRecord(state: string, { attempt, session, root }: Contents): void {
  write(state, { owner: thisProcess(), attempt, session, root });
}

/** No process does any more. */
export function releaseRecord(state: string, { attempt, session, root }: Contents): void {
  write(state, { owner: null, attempt, session, root });
}

function write(state: string, record: TreeRecord): void {
  writeFileSync(join(state, recordName), JSON.stringify(record));
}

/** The record of a work tree where no living process works; undefined when there is none. */
export function releasedRecordIn(state: string): Contents | undefined {
  const record = recordIn(state);
  return record === undefined || isTaken(record) ? undefined : record;
}

export function isTreeTaken(state: string): boolean {
  const record = recordIn(state);
  return record !== undefined && isTaken(record);
}

function recordIn(state: string): TreeRecord | undefined {
  const text = unlessRefused(() => readFileSync(join(state, recordName), "utf8"));
  if (text === undefined) return undefined;
  try {
    return recordSchema.parse(JSON.parse(text));
  } catch {
    // Cut off with its process: what is there is as good as nothing.
    return undefined;
  }
}

function isTaken({ owner }: TreeRecord): boolean {
  return owner !== null && !isProcessGone(owner);
}
