import type { Mailbox } from "../async/mailbox.ts";
import type { Event, EventOf } from "../engine/event.ts";
import { type ErrorCode, KodaError } from "../errors.ts";
import type { Submissions } from "../session/submissions.ts";
import type { Submitted } from "./queue.ts";
import { cancelled, replyTo, type SubmissionReply } from "./reply.ts";
import type { Submission } from "./submission.ts";

/** A line of the input, or why it could not be read. */
export type InputLine = string | { problem: string; id?: string };

/** A line that is a submission as JSON, or a submission that was made of what a person typed. */
export type ChatLine = InputLine | { submission: Submission };

type DoorOptions = {
  /** Those of the session that is open now. */
  kept: () => Submissions;
  /** Events that belong to no turn. */
  posted: Mailbox<Event>;
  /** Throws for what cannot be done now. */
  assertPossible: (submission: Submission) => void;
  carryOut: (job: Submitted) => void;
  /** Submissions of an earlier process are not carried out: whoever waited for them has gone with it. */
  dropsEarlier: boolean;
};

/** A submission; without what it was when it cannot be carried out any more. */
type Answered = Pick<Submitted, "id" | "kept"> & Partial<Submitted>;

/** All that is submitted comes through here: it is stored, then told as accepted, and then carried out. */
export class Door {
  readonly #options: DoorOptions;

  constructor(options: DoorOptions) {
    this.#options = options;
  }

  async receive(line: ChatLine): Promise<void> {
    if (typeof line === "string" && line.trim() === "") return;
    const read = typeof line === "string" ? (await loadReader()).readSubmission(line) : line;
    if ("problem" in read) return this.#reject(read.id, "usage", read.problem);
    const { submission } = read;
    const { id = Bun.randomUUIDv7() } = submission;
    const { posted, assertPossible, carryOut } = this.#options;
    const kept = this.#options.kept();
    try {
      if (this.#isKnown(id, submission)) return;
      assertPossible(submission);
      kept.accept(id, JSON.stringify({ ...submission, id }));
    } catch (error) {
      if (!(error instanceof KodaError)) throw error;
      return this.#reject(id, error.code, error.message);
    }
    posted.post({ type: "accepted", submission: id });
    carryOut({ id, submission, kept });
  }

  /**
   * Carries out the submissions that an earlier process has accepted. Those that had begun are told as cut off, and a
   * reply that may not have been read is told again.
   */
  async takeUp(): Promise<void> {
    const { kept: current, carryOut, posted, dropsEarlier } = this.#options;
    const kept = current();
    for (const { id, body, state, reply } of kept.open()) {
      const read = (await loadReader()).readSubmission(body);
      if (reply !== null) posted.post(JSON.parse(reply) as EventOf<"reply">);
      else if (!dropsEarlier && state === "accepted" && "submission" in read)
        carryOut({ id, submission: read.submission, kept });
      else posted.post(this.reply({ id, kept }, cut));
    }
  }

  /** Stored before it is told, but for a list: it can be made again, and a program may ask for it all the time. */
  reply({ id, kept, submission }: Answered, reply: SubmissionReply): EventOf<"reply"> {
    const event = replyTo(id, reply);
    if (submission === undefined || !isList(submission)) kept.answer(id, JSON.stringify(event));
    return event;
  }

  /** To be called when the reply has left the process. */
  told(id: string): void {
    this.#options.kept().tell(id);
  }

  post(job: Submitted, reply: SubmissionReply): void {
    this.#options.posted.post(this.reply(job, reply));
  }

  /** The same submission again has no effect: it is told what is known of it. */
  #isKnown(id: string, submission: Submission): boolean {
    const { posted, carryOut } = this.#options;
    const kept = this.#options.kept();
    const known = kept.find(id);
    if (known === undefined) return false;
    if (known.body !== JSON.stringify({ ...submission, id }))
      throw new KodaError("usage", `The id "${id}" is that of another submission: give each its own`);
    posted.post({ type: "accepted", submission: id });
    if (known.reply !== null) posted.post(JSON.parse(known.reply) as EventOf<"reply">);
    else if (known.state === "answered" && isList(submission)) carryOut({ id, submission, kept });
    return true;
  }

  #reject(id: string | undefined, code: ErrorCode, message: string): void {
    const submission = id === undefined ? {} : { submission: id };
    this.#options.posted.post({ type: "rejected", ...submission, error: { code, message } });
  }
}

function isList({ op }: Submission): boolean {
  return op.endsWith(".list");
}

/** A submission that was made here needs no check, and a chat without programs no zod. */
const loadReader = () => import("./submission.ts");

const cut = cancelled("koda was stopped while this was under way: how far it came is in the session");
