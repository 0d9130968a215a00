import type { Database } from "./database.ts";

/** A submission of `koda chat`: `body` is what was submitted, as JSON. */
type StoredSubmission = {
  id: string;
  body: string;
  /** `taken` as soon as it has had an effect: it is not carried out again. `replied` until the reply was told. */
  state: "accepted" | "taken" | "replied" | "answered";
  /** As JSON, once it was answered. */
  reply: string | null;
};

/** The submissions to a session. One that was accepted is answered once, if need be by a later process. */
export type Submissions = {
  accept(id: string, body: string): void;
  take(id: string): void;
  answer(id: string, reply: string): void;
  /** The program that submitted it has read the reply, as far as koda can know. */
  tell(id: string): void;
  /**
   * Takes over those of another session. There this reply is left for a program that knows no other session, and what
   * is open: that program may submit it again.
   */
  adopt(from: string, left: { id: string; reply: string }): void;
  find(id: string): StoredSubmission | undefined;
  /** Those whose reply was not told, in the order in which they were accepted. */
  open(): StoredSubmission[];
};

type SubmissionsOptions = { session: string; write: (steps: () => void) => void };

export function openSubmissions(db: Database, { session, write }: SubmissionsOptions): Submissions {
  const select = (condition: string, values: string[]) =>
    db.all<StoredSubmission>(
      `SELECT id, body, state, reply FROM submission WHERE session = ? AND ${condition} ORDER BY number`,
      [session, ...values],
    );
  // Nobody else accepts any, and to look for the last one each time would take longer with each.
  let last: number | undefined;
  const next = () => {
    const [found] = last === undefined ? db.all<{ last: number }>(lastNumber, [session]) : [];
    return (last ?? found?.last ?? 0) + 1;
  };
  return {
    accept: (id, body) =>
      write(() => {
        const number = next();
        db.run("INSERT INTO submission (session, id, number, body, state) VALUES (?, ?, ?, ?, 'accepted')", [
          session,
          id,
          number,
          body,
        ]);
        last = number;
      }),
    take: (id) => write(() => takeSubmission(db, { session, id })),
    // Also of a session that was closed: nobody else answers.
    answer: (id, reply) =>
      db.write(() => {
        answerSubmission(db, { session, id, reply });
      }),
    tell: (id) =>
      db.write(() => {
        db.run("UPDATE submission SET state = 'answered' WHERE session = ? AND id = ?", [session, id]);
      }),
    adopt: (from, { id, reply }) =>
      write(() => {
        db.run("UPDATE submission SET session = ? WHERE session = ?", [session, from]);
        last = undefined;
        answerSubmission(db, { session, id, reply });
        db.run(
          `INSERT INTO submission (session, id, number, body, state, reply)
             SELECT ?1, id, number, body, iif(id = ?3, state, 'answered'), reply
             FROM submission WHERE session = ?2 AND state <> 'answered'`,
          [from, session, id],
        );
      }),
    find: (id) => select("id = ?", [id])[0],
    open: () => select("state <> 'answered'", []),
  };
}

function answerSubmission(db: Database, { session, id, reply }: { session: string; id: string; reply: string }): void {
  db.run("UPDATE submission SET state = 'replied', reply = ? WHERE session = ? AND id = ?", [reply, session, id]);
}

const lastNumber = "SELECT coalesce(max(number), 0) AS last FROM submission WHERE session = ?";

/** To be called in a transaction, with what the submission brings about. */
export function takeSubmission(db: Database, { session, id }: { session: string; id: string }): void {
  db.run("UPDATE submission SET state = 'taken' WHERE session = ? AND id = ? AND state = 'accepted'", [session, id]);
}
