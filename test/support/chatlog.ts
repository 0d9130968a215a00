import { Database } from "bun:sqlite";
import type { ModelRequestSeen } from "./model-server.ts";
import { databaseIn } from "./opened.ts";
import type { Place } from "./place.ts";

/** What the model was sent: `markers` counts the items in the log that change earlier ones. */
type Sent = { messages: readonly string[]; markers: number };
/** The session of a process: the kind of its newest item, and the text of its newest prompt. */
type LogNow = { session: string; markers: number; latest: string; prompt: string };
type Prompt = { submission?: string; parts: { text: string }[] };

/** The sessions in a place as they are stored, while koda runs and is killed. */
export class ChatLog {
  readonly problems: string[] = [];
  readonly #place: Place;
  /** The newest request of each session. */
  readonly #sent = new Map<string, Sent>();

  constructor(place: Place) {
    this.#place = place;
  }

  /** A request begins with the messages of the one before, also after a kill, unless a marker has come between. */
  checkRequest({ body, lines }: ModelRequestSeen, pid: number): void {
    const [log] = this.#all<LogNow>(selectLog, pid);
    if (log === undefined) return;
    const { session, markers, latest, prompt } = log;
    // Its turn may be over by now, and even taken back.
    const isLate = latest === "turn_end" || latest === "rollback" || !lines.some(({ text }) => text.includes(prompt));
    if (isLate) return;
    const messages = (body.messages as { role: string }[]).filter(({ role }) => role !== "system");
    const sent = { markers, messages: messages.map((message) => JSON.stringify(message)) };
    const before = this.#sent.get(session);
    this.#sent.set(session, sent);
    if (before === undefined || before.markers !== markers) return;
    const at = before.messages.findIndex((message, index) => message !== sent.messages[index]);
    if (at !== -1) this.problems.push(`message ${at} was ${before.messages[at]} and now is ${sent.messages[at]}`);
  }

  /** The user's prompts of all sessions. */
  prompts(): { id: string; text: string }[] {
    const sql = "SELECT body FROM item JOIN content ON content.id = item.content WHERE item.kind = 'user'";
    const prompts = this.#all<{ body: string }>(sql).map(({ body }) => JSON.parse(body) as Prompt);
    return prompts.map(({ submission = "", parts }) => ({ id: submission, text: parts[0]?.text ?? "" }));
  }

  /** The submissions that are left for a later process. */
  left(session: string): { id: string; state: string }[] {
    return this.#all("SELECT id, state FROM submission WHERE session = ? AND state <> 'answered'", session);
  }

  has(session: string): boolean {
    return this.#all("SELECT 1 FROM session WHERE id = ?", session).length > 0;
  }

  /** The sessions in which a submission has a reply. */
  repliedIn(id: string): string[] {
    const sql = "SELECT session FROM submission WHERE id = ? AND reply IS NOT NULL";
    return this.#all<{ session: string }>(sql, id).map(({ session }) => session);
  }

  #all<Row>(sql: string, ...values: (string | number)[]): Row[] {
    using database = new Database(databaseIn(this.#place), { readonly: true });
    // The first one to look after a kill may be another process.
    database.run("PRAGMA busy_timeout = 5000");
    return database.query<Row, (string | number)[]>(sql).all(...values);
  }
}

const selectLog = `SELECT lease.session,
  (SELECT count(*) FROM item WHERE session = lease.session AND kind IN ('compaction', 'rollback', 'trim')) AS markers,
  (SELECT kind FROM item WHERE session = lease.session ORDER BY seq DESC LIMIT 1) AS latest,
  (SELECT json_extract(body, '$.parts[0].text') FROM item JOIN content ON content.id = item.content
    WHERE session = lease.session AND kind = 'user' ORDER BY seq DESC LIMIT 1) AS prompt
  FROM lease WHERE pid = ?`;
