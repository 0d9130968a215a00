import type { Submissions } from "../session/submissions.ts";
import type { Op, Submission, SubmissionOf } from "./submission.ts";

/** A submission that was accepted, and where it is recorded. */
export type Submitted = { id: string; submission: Submission; kept: Submissions };
export type SubmittedOf<O extends Op> = Submitted & { submission: SubmissionOf<O> };

/** Submissions that are carried out one after the other, between turns. */
export class Queue {
  #jobs: Submitted[] = [];
  #wake = Promise.withResolvers<void>();
  #isOver = false;

  add(job: Submitted): void {
    this.#jobs.push(job);
    this.wake();
  }

  /** Back to the front: it came before all that waits. */
  putBack(jobs: readonly Submitted[]): void {
    this.#jobs.unshift(...jobs);
  }

  next(): Submitted | undefined {
    return this.#jobs.shift();
  }

  /** The inputs that a turn may take now: those that nothing else has to precede. Settings wait for the next turn. */
  *inputs(): Generator<SubmittedOf<"input">, void> {
    const waiting = this.#jobs;
    this.#jobs = [];
    let isBlocked = false;
    for (const job of waiting) {
      if (!isBlocked && isInput(job)) yield job;
      else this.#jobs.push(job);
      isBlocked ||= !isInput(job) && !["settings", "mcp.refresh"].includes(job.submission.op);
    }
  }

  /** Takes what begins a turn at once. */
  takeTurn(): Submitted | undefined {
    const [first] = this.#jobs;
    return first !== undefined && beginsTurn(first) ? this.#jobs.shift() : undefined;
  }

  /** True when a turn is due. */
  get hasTurn(): boolean {
    return this.#jobs.some(beginsTurn);
  }

  /** Everything that still waits, for a chat that ends before. */
  drain(): Submitted[] {
    return this.#jobs.splice(0);
  }

  get waiting(): readonly Submitted[] {
    return this.#jobs;
  }

  /** No more is submitted. */
  close(): void {
    this.#isOver = true;
    this.wake();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  wake(): void {
    this.#wake.resolve();
  }

  /** Settles when something has changed since the last call. */
  async changed(): Promise<void> {
    await this.#wake.promise;
    this.#wake = Promise.withResolvers();
  }
}

/** True for a submission that is a turn by itself. */
export function beginsTurn(job: Submitted): job is SubmittedOf<"input" | "review"> {
  return isOp(job, "input") || isOp(job, "review");
}

function isInput(job: Submitted): job is SubmittedOf<"input"> {
  return isOp(job, "input");
}

export function isOp<O extends Op>(job: Submitted, op: O): job is SubmittedOf<O> {
  return job.submission.op === op;
}
