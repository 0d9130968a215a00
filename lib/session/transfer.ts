import { modes } from "../config/config.ts";
import { parseJson } from "../config/json.ts";
import { KodaError } from "../errors.ts";
import { isEither, isFigure, isListOf, isNumber, isOneOf, isRecordOf, isString } from "./check.ts";
import { type Database, storeFailure } from "./database.ts";
import { decodeItem } from "./decode.ts";
import { isHeld } from "./lease.ts";
import { insertSession, type ItemRow, readItemsAfter, readSessions, type SessionInfo, updateSession } from "./log.ts";
import type { RecordingRow } from "./outputs.ts";
import { openDatabase, schemaVersion } from "./schema.ts";

/** A part of a session's log, for another database: its rows as compressed lines of JSON. */
export type LogPart = {
  /** The schema of the database that it comes from. */
  version: number;
  /** The places of its first and its last item in the log. */
  from: number;
  to: number;
  rows: Uint8Array;
};

/** A session as a later run finds it. */
export type LoggedState = { length: number; isHeld: boolean; turn: "none" | "complete" | "unfinished" };

type Mask = (text: string) => string;

/** Takes sessions from one database to another, item by item. The session of a run that goes on may be read as well. */
export class LogTransfer {
  readonly #db: Database;

  constructor(path: string) {
    this.#db = openDatabase(path);
  }

  /** Undefined when there is no such session. */
  state(session: string): LoggedState | undefined {
    return this.#db.read(() => {
      const [info] = readSessions(this.#db, "id = ?", [session]);
      if (info === undefined) return undefined;
      const isComplete = info.ended === "complete";
      const turn = info.turns === 0 ? "none" : isComplete ? "complete" : "unfinished";
      return { length: info.length, isHeld: isHeld(this.#db, session), turn };
    });
  }

  /** The items after a place, with what a later run needs of them; undefined when there are none. */
  read(session: string, after: number, mask: Mask): LogPart | undefined {
    return this.#db.read(() => {
      const [info] = readSessions(this.#db, "id = ?", [session]);
      if (info === undefined || info.length <= after) return undefined;
      const items = readItemsAfter(this.#db, { session, seq: after }).map((row) => ({
        ...row,
        body: maskedBody(row.body, mask),
      }));
      const outputs = outputsFrom(this.#db, session, after).map((row) => portable(row, mask));
      const { parent: _, shared: __, agent: ___, ...own } = info;
      const lines = [asLine({ ...own, title: mask(info.title) }), ...[...items, ...outputs].map(asLine)];
      const rows = Bun.gzipSync(new TextEncoder().encode(lines.join("\n")));
      return { version: schemaVersion, from: after + 1, to: info.length, rows };
    });
  }

  /** Makes a session of parts that follow each other, all of it or nothing. Throws when it cannot be had here. */
  write(session: string, parts: readonly Pick<LogPart, "version" | "rows">[]): void {
    const read = parts.map((part) => contentOf(part, this.#db.path));
    const last = read.at(-1);
    if (last === undefined) throw new TypeError("a session cannot be made of nothing");
    const items = read.flatMap(({ items }) => items);
    const isWhole = items.every(({ seq }, index) => seq === index + 1) && items.length === last.info.length;
    if (!isWhole) throw storeFailure(this.#db.path, `parts of the log of session "${session}" are missing`);
    this.#db.write(() => {
      const info = { ...last.info, id: session, root: session };
      insertSession(this.#db, info);
      for (const item of items) insertRow(this.#db, session, item);
      for (const { outputs } of read) for (const output of outputs) insertOutput(this.#db, session, output);
      updateSession(this.#db, info);
    });
  }

  close(): void {
    this.#db.close();
  }
}

/** A provider takes back its signed thoughts only as they were, and an image has no text. */
const kept: ReadonlySet<string> = new Set(["token", "base64"]);

function maskedBody(body: string, mask: Mask): string {
  if (mask(body) === body) return body;
  return JSON.stringify(JSON.parse(body), (name, value: unknown) =>
    typeof value === "string" && !kept.has(name) ? mask(value) : value,
  );
}

type Item = ItemRow & { kind: string };
type OutputRow = Omit<RecordingRow, "id"> & { id: string; seq: number };

/** `id` is what the model calls it. */
type PortableOutput = { id: string; seq: number; call: string; figures: readonly number[]; streams: readonly string[] };

const selectOutputs = `SELECT r.*, output.id, output.seq FROM output JOIN recording AS r ON r.id = output.recording
  WHERE session = ? AND seq >= ? ORDER BY seq`;

/** A command's output is stored before the result that names it, so it may have the place of the item before. */
function outputsFrom(db: Database, session: string, seq: number): OutputRow[] {
  return db.all<OutputRow>(selectOutputs, [session, seq]);
}

const texts = ["stdout_head", "stdout_tail", "stderr_head", "stderr_tail"] as const;
const numbers = ["stdout_bytes", "stdout_lines", "stderr_bytes", "stderr_lines"] as const;

function portable(row: OutputRow, mask: Mask): PortableOutput {
  const streams = texts.map((name) => Buffer.from(mask(Buffer.from(row[name]).toString("latin1")), "latin1"));
  const { id, seq, call } = row;
  return {
    id,
    seq,
    call,
    figures: numbers.map((name) => row[name]),
    streams: streams.map((bytes) => bytes.toString("base64")),
  };
}

function asLine(row: object): string {
  return JSON.stringify(row);
}

type Content = { info: Omit<SessionInfo, "parent" | "shared" | "agent">; items: Item[]; outputs: PortableOutput[] };

const isNull = (value: unknown): value is null => value === null;
const isItemRow = isRecordOf({ seq: isNumber, turn: isNumber, at: isNumber, body: isString });
const isOutput = isRecordOf({
  id: isString,
  seq: isNumber,
  call: isString,
  figures: isListOf(isNumber),
  streams: isListOf(isString),
});
const isInfo = isRecordOf({
  id: isString,
  root: isString,
  title: isString,
  cwd: isString,
  model: isString,
  provider: isString,
  createdAt: isNumber,
  updatedAt: isNumber,
  length: isNumber,
  turns: isNumber,
  costUsd: isFigure,
  mode: isOneOf(...modes),
  runAs: isEither(isString, isNull),
  ended: isEither(isOneOf("complete", "cancelled", "limit", "error"), isNull),
  usage: isRecordOf(
    { input: isFigure, cached: isFigure, output: isFigure, reasoning: isFigure },
    { written: isNumber },
  ),
});

function contentOf({ version, rows }: Pick<LogPart, "version" | "rows">, path: string): Content {
  if (version !== schemaVersion)
    throw storeFailure(
      path,
      `a session comes from a database with schema ${version}, and this one has ${schemaVersion}`,
    );
  const [first, ...rest] = linesOf(rows).map((line) => parseJson(line));
  if (!isInfo(first)) throw storeFailure(path, "a session comes from another koda, and cannot be read");
  const items = rest.filter(isItemRow).map((row) => ({ ...row, kind: decodeItem({ ...row }, { path }).kind }));
  return { info: first, items, outputs: rest.filter(isOutput) };
}

function linesOf(rows: Uint8Array): string[] {
  try {
    return new TextDecoder().decode(Bun.gunzipSync(Uint8Array.from(rows))).split("\n");
  } catch (error) {
    throw new KodaError("store", "A part of a session's log is damaged: it cannot be uncompressed", { cause: error });
  }
}

function insertRow(db: Database, session: string, { seq, turn, kind, at, body }: Item): void {
  const { id: content } = db.run("INSERT INTO content (body) VALUES (?)", [body]);
  const places = "(session, seq, turn, kind, at, content) VALUES (?, ?, ?, ?, ?, ?)";
  db.run(`INSERT INTO item ${places}`, [session, seq, turn, kind, at, content]);
}

/** A later part may have an output again, of a command that has gone on. */
function insertOutput(db: Database, session: string, { id, seq, call, figures, streams }: PortableOutput): void {
  const bytes = streams.map((text) => Uint8Array.from(Buffer.from(text, "base64")));
  const { id: recording } = db.run(
    `INSERT INTO recording (call, indexed, ${[...texts, ...numbers].join(", ")}) VALUES (?, 0, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [call, ...bytes, ...figures],
  );
  db.run(
    `INSERT INTO output (session, id, seq, recording) VALUES (?, ?, ?, ?)
       ON CONFLICT (session, id) DO UPDATE SET recording = excluded.recording`,
    [session, id, seq, recording],
  );
}
