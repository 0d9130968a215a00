import type { KeptStream } from "../shell/capture.ts";
import type { Database } from "./database.ts";

export type { KeptStream };

export type StoredOutput = { id: string; call: string; stdout: KeptStream; stderr: KeptStream };

/** The whole outputs of calls, by ids for the model. Saving under an id again replaces the output. */
export type OutputStore = {
  /** A new id, short enough to be quoted by a model (`o7`). */
  reserve(): string;
  save(output: StoredOutput): void;
  load(id: string): StoredOutput | undefined;
};

type OutputsOptions = {
  session: string;
  /** The number of items in the log now, and so the place of a new output. */
  position: () => number;
  /** A transaction; throws when this process may not write to the session any more. */
  write: (steps: () => void) => void;
};

/** One session's outputs. They are indexed when something is searched: a background task saves again and again. */
export function openOutputs(db: Database, { session, position, write }: OutputsOptions): OutputStore {
  let last: number | undefined;
  return {
    reserve() {
      last = (last ?? lastNumber(db, session)) + 1;
      return `o${last}`;
    },
    save({ id, call, stdout, stderr }) {
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
    load: (id) => loadOutput(db, session, id),
  };
}

function lastNumber(db: Database, session: string): number {
  const sql = "SELECT max(CAST(substr(id, 2) AS INTEGER)) AS last FROM output WHERE session = ?";
  return db.get<{ last: number | null }>(sql, [session])?.last ?? 0;
}

function loadOutput(db: Database, session: string, id: string): StoredOutput | undefined {
  const sql =
    "SELECT r.* FROM output JOIN recording AS r ON r.id = output.recording WHERE session = ? AND output.id = ?";
  const row = db.get<RecordingRow>(sql, [session, id]);
  return row && { id, ...recordingOf(row) };
}

export type RecordingRow = {
  id: number;
  call: string;
  stdout_head: Uint8Array;
  stdout_tail: Uint8Array;
  stdout_bytes: number;
  stdout_lines: number;
  stderr_head: Uint8Array;
  stderr_tail: Uint8Array;
  stderr_bytes: number;
  stderr_lines: number;
};

export function recordingOf(row: RecordingRow): Omit<StoredOutput, "id"> {
  return {
    call: row.call,
    stdout: {
      head: row.stdout_head,
      tail: row.stdout_tail,
      totalBytes: row.stdout_bytes,
      totalLines: row.stdout_lines,
    },
    stderr: {
      head: row.stderr_head,
      tail: row.stderr_tail,
      totalBytes: row.stderr_bytes,
      totalLines: row.stderr_lines,
    },
  };
}

function columnsOf({ head, tail, totalBytes, totalLines }: KeptStream): [Uint8Array, Uint8Array, number, number] {
  return [head, tail, totalBytes, totalLines];
}
