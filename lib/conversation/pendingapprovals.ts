import type { Event } from "../engine/event.ts";
import type { ApprovalDecision } from "../trust/approvaldecision.ts";
import { OpenQuestions, type Waits } from "./openquestions.ts";

type QuestionOptions = {
  post: (event: Event) => void;
  waits: Waits;
  /** Ends the turn. */
  abort: () => void;
};

/** A question that is closed by someone else than the user is denied, and the feedback says why. */
export type Decided = { decision: ApprovalDecision; feedback: string; by: "user" | "clock" | "end" };

type Asking = {
  id: string;
  /** The event that asks, with the id under which it is answered. */
  request: (id: string) => Event;
  /** Why a decision cannot be made about this question. */
  objection: (decision: ApprovalDecision) => string | undefined;
  /** The question is closed without an answer after this time. */
  limit?: { ms: number; reason: string } | undefined;
};

/** The questions to the user whether something may be done. */
export class PendingApprovals {
  readonly #options: QuestionOptions;
  readonly #open: OpenQuestions<Pick<Asking, "objection">, Decided>;
  #isOver = false;
  #denials = 0;

  constructor(options: QuestionOptions) {
    this.#options = options;
    this.#open = new OpenQuestions(options.waits);
  }

  /** False once no answer can come any more. */
  get canAsk(): boolean {
    return !this.#isOver;
  }

  /** How often all were denied. */
  get denials(): number {
    return this.#denials;
  }

  async ask({ id: wanted, request, objection, limit }: Asking): Promise<Decided> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const tell = (id: string) => {
      this.#options.post(request(id));
      timer = limit && setTimeout(() => this.#close(id, limit.reason, "clock"), limit.ms);
    };
    try {
      return await this.#open.put({ objection }, { wanted, tell });
    } finally {
      clearTimeout(timer);
    }
  }

  /** Answers a question. Returns why it cannot, such as for a call that waits for no approval. */
  decide(id: string, decision: ApprovalDecision, feedback = ""): string | undefined {
    const question = this.#open.find(id);
    if (question === undefined) return `No call "${id}" waits for approval`;
    const objection = question.objection(decision);
    if (objection !== undefined) return objection;
    this.#settle(id, { decision, feedback, by: "user" });
    if (decision === "abort") this.#options.abort();
    return undefined;
  }

  /** Denies all open questions, since the turn is over for another reason. */
  denyAll(reason: string): void {
    this.#denials++;
    for (const id of this.#open.ids) this.#close(id, reason, "end");
  }

  /** No answer can come any more. */
  end(reason: string): void {
    this.#isOver = true;
    this.denyAll(reason);
  }

  #close(id: string, feedback: string, by: "clock" | "end"): void {
    this.#settle(id, { decision: "deny", feedback, by });
  }

  #settle(id: string, answer: Decided): void {
    const { decision, feedback } = answer;
    if (!this.#open.settle(id, answer)) return;
    this.#options.post({ type: "approval.decision", id, decision, ...(feedback !== "" && { feedback }) });
  }
}
