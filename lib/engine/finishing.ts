import type { CallPart } from "../model/message.ts";
import { type Finish, finishName } from "../tools/finish.ts";
import type { AnswerSchema } from "./answerschema.ts";
import { giveUp, type AnswerJudgement } from "./judgement.ts";
import type { Ledger } from "./ledger.ts";

/** Takes calls of Finish, which end a turn under --finish required. */
export class Finishing {
  readonly #counts: Readonly<Ledger["calls"]>;
  readonly #schema: AnswerSchema | undefined;
  /** The last call of the current reply, and the number of calls before it that had not succeeded. */
  #last: string | undefined;
  #unsuccessful = 0;
  #judgement: AnswerJudgement | undefined;

  constructor(counts: Readonly<Ledger["calls"]>, schema: AnswerSchema | undefined) {
    this.#counts = counts;
    this.#schema = schema;
  }

  /** The verdict on the turn, once a Finish was accepted. */
  get judgement(): AnswerJudgement | undefined {
    return this.#judgement;
  }

  startOver(calls: readonly CallPart[]): void {
    this.#last = calls.at(-1)?.id;
    this.#unsuccessful = this.#countUnsuccessful();
  }

  takeBack(): void {
    this.#judgement = undefined;
  }

  /** Accepts the end of the task, or returns what speaks against it. */
  async accept(call: string, { status, summary, output }: Finish): Promise<string | undefined> {
    if (call !== this.#last) return `The task has not ended: ${finishName} must be the last call of a reply.`;
    if (status === "blocked") {
      this.#judgement = giveUp("blocked", `The task is blocked: ${summary}`, summary);
      return undefined;
    }
    if (this.#countUnsuccessful() > this.#unsuccessful)
      return "The task has not ended: another call of this reply did not succeed. Look at its result first.";

    const judgement = (await this.#schema?.checkOutput(output)) ?? { kind: "answer", text: summary };
    if (judgement.kind === "again") return judgement.note;
    this.#judgement = judgement;
    return undefined;
  }

  #countUnsuccessful(): number {
    return this.#counts.failed + this.#counts.denied;
  }
}

/** True for a call that needs no further request, so a limit does not stand in its way. */
export function onlyFinishes(calls: readonly CallPart[]): boolean {
  return calls.length === 1 && calls[0]?.tool === finishName;
}
