import type { Mode } from "../config/config.ts";
import type { Usage } from "../model/model.ts";
import { addUsage } from "../model/usage.ts";
import { textOfParts } from "./content.ts";
import type { Database } from "./database.ts";
import { shortened } from "./graphemes.ts";
import type { EnvironmentFacts, Item, ItemOf, LoggedItem } from "./item.ts";
import { takeSubmission } from "./submissions.ts";

/** A session as a whole, for lists and for a run that continues it. */
export type SessionInfo = {
  id: string;
  /** The session that it was forked from, or whose agent it is; it may have been removed since. */
  parent?: string;
  /** The number of items that it began with: those of its parent at that time. */
  shared?: number;
  /** The first session of its line of forks and agents: its own id when it is neither. */
  root: string;
  /** The name of the agent that it belongs to; absent for a conversation of the user's. */
  agent?: string;
  /** Taken from the first prompt; empty before it. */
  title: string;
  /** This and the next four are those of the last recorded environment. */
  cwd: string;
  model: string;
  provider: string;
  mode: Mode;
  /** The agent that the run was (`--agent`). */
  runAs: string | null;
  createdAt: number;
  updatedAt: number;
  /** The number of items, and so the `seq` of the last one. */
  length: number;
  turns: number;
  usage: Usage;
  /** Of all replies; null when that of any is unknown. */
  costUsd: number | null;
  /** The end of the latest turn, unless that is under way or was cut off. */
  ended: ItemOf<"turn_end">["reason"] | null;
};

const sessionColumns = `id, parent, parent_seq AS shared, root, agent, title, cwd, model, provider, mode,
  run_as AS runAs, created_at AS createdAt, updated_at AS updatedAt, length, turns, input, cached, written, output,
  reasoning, cost AS costUsd, ended`;

type SessionRow = Omit<SessionInfo, "parent" | "shared" | "agent" | "usage"> &
  Omit<Usage, "written"> & {
    parent: string | null;
    shared: number | null;
    agent: string | null;
    written: number | null;
  };

/** The sessions that a condition selects; it may go on with ORDER BY and LIMIT. */
export function readSessions(db: Database, condition: string, values: (string | number | null)[] = []): SessionInfo[] {
  const rows = db.all<SessionRow>(`SELECT ${sessionColumns} FROM session WHERE ${condition}`, values);
  return rows.map(({ parent, shared, agent, input, cached, written, output, reasoning, ...rest }) => ({
    ...rest,
    ...(parent !== null && { parent }),
    ...(shared !== null && { shared }),
    ...(agent !== null && { agent }),
    usage: { input, cached, ...(written !== null && { written }), output, reasoning },
  }));
}

export function insertSession(db: Database, info: SessionInfo): void {
  const { id, parent, shared, root, agent, title, cwd, model, provider, mode, runAs } = info;
  const { createdAt, updatedAt, length, turns, costUsd, ended } = info;
  db.run(
    `INSERT INTO session
       (id, parent, parent_seq, root, agent, title, cwd, model, provider, mode, run_as, created_at, updated_at, length,
          turns, cost, ended, indexed)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)`,
    [
      id,
      parent ?? null,
      shared ?? null,
      root,
      agent ?? null,
      title,
      cwd,
      model,
      provider,
      mode,
      runAs,
      createdAt,
      updatedAt,
      length,
      turns,
      costUsd,
      ended,
    ],
  );
}

/** Deletes its items, outputs and lease as well; data that a fork shares stays. */
export function deleteSession(db: Database, id: string): void {
  // Not by the trigger: between its statements FTS5 writes its data, which takes ten times as long.
  const isShared = "SELECT 1 FROM item AS other WHERE other.content = item.content AND other.session <> item.session";
  const own = `SELECT content FROM item WHERE session = ? AND NOT EXISTS (${isShared})`;
  for (const { content } of db.all<{ content: number }>(own, [id]))
    db.run("DELETE FROM search WHERE rowid = ?", [content]);
  db.run("DELETE FROM session WHERE id = ?", [id]);
}

/** The session after these items: a pure step, so that memory and database cannot differ. */
export function continued(
  before: SessionInfo,
  items: readonly Item[],
  now: number,
): { info: SessionInfo; logged: LoggedItem[] } {
  let info: SessionInfo = { ...before, updatedAt: now };
  const logged = items.map((item): LoggedItem => {
    info = withItem(info, item);
    return { seq: info.length, turn: info.turns, at: now, ...item };
  });
  return { info, logged };
}

function withItem(before: SessionInfo, item: Item): SessionInfo {
  const info = { ...before, length: before.length + 1 };
  switch (item.kind) {
    case "turn_start":
      return { ...info, turns: info.turns + 1, ended: null };
    case "user":
      return info.title === "" ? { ...info, title: promptTitle(textOfParts(item.parts)) } : info;
    case "assistant":
      return withUsage(info, item);
    case "compaction":
      return item.usage === undefined ? info : withUsage(info, { ...item, usage: item.usage });
    case "rollback":
      return { ...info, turns: info.turns - item.turns };
    case "environment":
      return { ...info, ...standingOf(item.facts) };
    case "note":
    case "result":
    case "todo":
    case "trim":
    case "images_removed":
      return info;
    case "turn_end":
      return { ...info, ended: item.reason };
    default:
      return item satisfies never;
  }
}

/** The part of an environment that a session's row repeats. */
export function standingOf({ cwd, model, provider, mode, agent }: EnvironmentFacts) {
  return { cwd, model, provider, mode, runAs: agent ?? null };
}

type Paid = { usage: Usage; costUsd?: number; finish?: string };

function withUsage(info: SessionInfo, item: Paid): SessionInfo {
  return { ...info, usage: addUsage(info.usage, item.usage), costUsd: addCost(info.costUsd, item) };
}

/** A reply that was cut off has no figures at all, and counts for nothing. */
function addCost(before: number | null, { costUsd, finish }: { costUsd?: number; finish?: string }): number | null {
  if (finish === "cut") return before;
  return before === null || costUsd === undefined ? null : Math.round((before + costUsd) * 1e9) / 1e9;
}

const titleLength = 80;

/** Line ends, control characters, and marks that change the direction of writing. */
const disturbing = /[\s\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu;

/** The first line that is not blank. */
export function promptTitle(prompt: string): string {
  for (const line of prompt.slice(0, 10_000).split("\n")) {
    const title = line.replaceAll(disturbing, " ").trim();
    if (title !== "") return shortened(title, titleLength);
  }
  return "";
}

/** To be called in a transaction that has checked the lease. */
export function appendItems(db: Database, { info, items }: { info: SessionInfo; items: readonly LoggedItem[] }): void {
  for (const item of items) insertItem(db, info, item);
  updateSession(db, info);
}

export function updateSession(db: Database, info: SessionInfo): void {
  const { id, title, cwd, model, provider, mode, runAs, updatedAt, length, turns, usage, costUsd, ended } = info;
  const { input, cached, written, output, reasoning } = usage;
  db.run(
    `UPDATE session SET title = ?, cwd = ?, model = ?, provider = ?, mode = ?, run_as = ?, updated_at = ?, length = ?,
       turns = ?, input = ?, cached = ?, written = ?, output = ?, reasoning = ?, cost = ?, ended = ? WHERE id = ?`,
    [
      title,
      cwd,
      model,
      provider,
      mode,
      runAs,
      updatedAt,
      length,
      turns,
      input,
      cached,
      written ?? null,
      output,
      reasoning,
      costUsd,
      ended,
      id,
    ],
  );
}

function insertItem(db: Database, info: SessionInfo, logged: LoggedItem): void {
  const { seq, turn, at: _, ...item } = logged;
  if (item.kind === "user" && item.submission !== undefined)
    takeSubmission(db, { session: info.id, id: item.submission });
  const { id: content } = db.run("INSERT INTO content (body) VALUES (?)", [JSON.stringify(item)]);
  db.run("INSERT INTO item (session, seq, turn, kind, at, content) VALUES (?, ?, ?, ?, ?, ?)", [
    info.id,
    seq,
    turn,
    item.kind,
    info.updatedAt,
    content,
  ]);
}

export type ItemRow = { seq: number; turn: number; at: number; body: string };

const rowsOf = (items: string) => `SELECT item.seq, item.turn, item.at, content.body
  FROM ${items} JOIN content ON content.id = item.content WHERE item.session = ?1`;

export const selectRows: string = rowsOf("item");

/** SQLite would rather read the whole log than use this index, and cannot use it without its condition. */
const markers = "INDEXED BY item_marker";
const isMarker = (item: string) => `${item}.kind IN ('environment', 'compaction', 'rollback')`;
const selectMarkers = `${rowsOf(`item ${markers}`)} AND ${isMarker("item")}`;

/** The environment of the latest turn that was not rolled back. */
export function readEnvironment(db: Database, session: string): ItemRow | undefined {
  const later = `SELECT 1 FROM item AS later ${markers} WHERE later.session = item.session AND ${isMarker("later")}
    AND later.kind = 'rollback' AND later.seq > item.seq AND later.turn < item.turn`;
  const those = `item.kind = 'environment' AND NOT EXISTS (${later})`;
  return db.get<ItemRow>(`${selectMarkers} AND ${those} ORDER BY item.seq DESC LIMIT 1`, [session]);
}

/** The markers of a log that change what came before them, newest first. */
export function readMarkers(db: Database, session: string): ItemRow[] {
  return db.all<ItemRow>(`${selectMarkers} AND item.kind <> 'environment' ORDER BY item.seq DESC`, [session]);
}

/** The rows of a log from a place on, oldest first; decode.ts makes items of them. */
export function readItemsAfter(
  db: Database,
  { session, seq, most = -1 }: { session: string; seq: number; most?: number },
): ItemRow[] {
  return db.all<ItemRow>(`${selectRows} AND item.seq > ? ORDER BY item.seq LIMIT ?`, [session, seq, most]);
}

export function readItemsAt(db: Database, { session, seqs }: { session: string; seqs: readonly number[] }): ItemRow[] {
  const places = "item.seq IN (SELECT value FROM json_each(?))";
  return db.all<ItemRow>(`${selectRows} AND ${places} ORDER BY item.seq`, [session, JSON.stringify(seqs)]);
}

/** Copies the places of a session's log, up to its length then, to another; they share the data. */
export function copyPlaces(db: Database, { from, to }: { from: Pick<SessionInfo, "id" | "length">; to: string }): void {
  const { id, length } = from;
  db.run(
    `INSERT INTO item (session, seq, turn, kind, at, content)
       SELECT ?, seq, turn, kind, at, content FROM item WHERE session = ? AND seq <= ?`,
    [to, id, length],
  );
  db.run(
    `INSERT INTO output (session, id, seq, recording)
       SELECT ?, id, seq, recording FROM output WHERE session = ? AND seq <= ?`,
    [to, id, length],
  );
  db.run("UPDATE session SET indexed = (SELECT min(indexed, ?) FROM session WHERE id = ?) WHERE id = ?", [
    length,
    id,
    to,
  ]);
}
