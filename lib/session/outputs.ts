import type { KeptStream } from "../shell/capture.ts";
import type { Database } from "./database.ts";

export type StoredOutput = { id: string; call: string; stdout: KeptStream; stderr: KeptStream };

export type OutputStore = ReturnType<typeof openOutputs>;

type OutputsOptions = {
  session: string;
  /** The number of items in the log now, and so the place of a new output. */
  position: () => number;
  /** A transaction; throws when this process may not write to the session any more. */
  write: (steps: () => void) => void;
};

/**
 * The whole outputs of one session's calls, by ids for the model. They are indexed when something is searched: a
 * background task saves again and again.
 */
export function openOutputs(db: Database, { session, position, write }: OutputsOptions) {
  let last: number | undefined;
  return {
    /** A new id, short enough to be quoted by a model (`o7`). */
    reserve(): string {
      last = (last ?? lastNumber(db, session)) + 1;
      return `o${last}`;
    },
    /** Replaces an output that was saved under this id before. */
    save({ id, call, stdout, stderr }: StoredOutput): void {
      write(() => {
        const { id: recording } = db.run(
          `INSERT INTO recording (call, indexed, stdout_head, stdout_tail, stdout_bytes, stdout_lines,
             stderr_head, stderr_tail, stderr_bytes, stderr_lines) VALUES (?, 0, ?, ?, ?, ?, ?, ?, ?, ?)`,
          [call, ...columnsOf(stdout), ...columnsOf(stderr)],
        );
        db.run(
          `INSERT INTO output (session, id, seq, recording) VALUES (?, ?, ?, ?)
             ON CONFLICT (session, id) DO UPDATE SET recording = excluded.recording`,
          [session, id, position(), recording],
        );
      });
    },
    load(id: string): StoredOutput | undefined {
      const row = db.get<RecordingRow>(
        "SELECT r.* FROM output JOIN recording AS r ON r.id = output.recording WHERE session = ? AND output.id = ?",
        [session, id],
      );
      return row && { id, ...recordingOf(row) };
    },
  };
}

function lastNumber(db: Database, session: string): number {
  const sql = "SELECT max(CAST(substr(id, 2) AS INTEGER)) AS last FROM output WHERE session = ?";
  return db.get<{ last: number | null }>(sql, [session])?.last ?? 0;
}

type Stream = "stdout" | "stderr";

export type RecordingRow = { id: number; call: string } & Record<`${Stream}_${"head" | "tail"}`, Uint8Array> &
  Record<`${Stream}_${"bytes" | "lines"}`, number>;

export function recordingOf(row: RecordingRow): Omit<StoredOutput, "id"> {
  const stream = (name: Stream): KeptStream => ({
    head: row[`${name}_head`],
    tail: row[`${name}_tail`],
    totalBytes: row[`${name}_bytes`],
    totalLines: row[`${name}_lines`],
  });
  return { call: row.call, stdout: stream("stdout"), stderr: stream("stderr") };
}

function columnsOf({ head, tail, totalBytes, totalLines }: KeptStream): [Uint8Array, Uint8Array, number, number] {
  return [head, tail, totalBytes, totalLines];
}
