import type { Event } from "../engine/event.ts";
import type { ApprovalDecision } from "../trust/approvaldecision.ts";

type QuestionOptions = {
  post: (event: Event) => void;
  /** Stops the clock of --idle-timeout while a question is open. */
  waits: () => Disposable;
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

type Question = Pick<Asking, "objection"> & { settle: (answer: Decided) => void };

/** The questions to the user that are open. */
export class PendingApprovals {
  readonly #options: QuestionOptions;
  readonly #open = new Map<string, Question>();
  readonly #ids = new Set<string>();
  #isOver = false;
  #denials = 0;

  constructor(options: QuestionOptions) {
    this.#options = options;
  }

  /** False once nobody can answer any more. */
  get canAsk(): boolean {
    return !this.#isOver;
  }

  async ask({ id: wanted, request, objection, limit }: Asking): Promise<Decided> {
    const { promise, resolve } = Promise.withResolvers<Decided>();
    const id = this.#newId(wanted);
    this.#open.set(id, { objection, settle: resolve });
    this.#options.post(request(id));
    const timer = limit && setTimeout(() => this.#close(id, limit.reason, "clock"), limit.ms);
    using _ = this.#options.waits();
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
    }
  }

  /** How often all were denied. */
  get denials(): number {
    return this.#denials;
  }

  /** Models use an id again: an answer that comes late must not be one to a later question. */
  #newId(wanted: string): string {
    let id = wanted;
    for (let count = 2; this.#ids.has(id); count++) id = `${wanted}#${count}`;
    this.#ids.add(id);
    return id;
  }

  /** Answers a question. Returns why it cannot, such as for a call that nobody asks about. */
  decide(id: string, decision: ApprovalDecision, feedback = ""): string | undefined {
    const question = this.#open.get(id);
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
    for (const id of this.#open.keys()) this.#close(id, reason, "end");
  }

  /** Nobody can answer any more. */
  end(reason: string): void {
    this.#isOver = true;
    this.denyAll(reason);
  }

  #close(id: string, feedback: string, by: "clock" | "end"): void {
    this.#settle(id, { decision: "deny", feedback, by });
  }

  #settle(id: string, answer: Decided): void {
    const question = this.#open.get(id);
    if (question === undefined) return;
    this.#open.delete(id);
    const { decision, feedback } = answer;
    this.#options.post({ type: "approval.decision", id, decision, ...(feedback !== "" && { feedback }) });
    question.settle(answer);
  }
}

export function isApproval(decision: ApprovalDecision): boolean {
  return decision !== "deny" && decision !== "abort";
}
