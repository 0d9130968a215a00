import type { CallPart } from "../model/message.ts";
import type { FinishReason, JsonSchema } from "../model/model.ts";
import { AnswerSchema } from "./answerschema.ts";
import { type Completion, type Ending, judgeCompletion } from "./completion.ts";
import { Finishing } from "./finishing.ts";
import { askAgain, giveUp, type AnswerJudgement } from "./judgement.ts";
import type { Ledger } from "./ledger.ts";
import { Reminders } from "./reminders.ts";

const mostContinuations = 3;
const mostEmpty = 1;

type JudgeOptions = {
  /** The JSON Schema that the answer has to match. */
  schema?: JsonSchema | undefined;
  /** Only a call of Finish ends the turn (--finish required). */
  requiresFinish?: boolean;
  counts: Readonly<Ledger["calls"]>;
};

/** The state of the turn; `mayGoOn` is false when no request with tools may follow. */
export type Circumstances = Omit<Ending, "text"> & { mayGoOn: boolean };

/** Judges what may end a turn. Each kind of second chance is counted, so a turn always ends. */
export class AnswerJudge {
  /** A message for the model, before it begins, on the form of the end. */
  readonly request: string | undefined;
  readonly finishing: Finishing;
  readonly #requiresFinish: boolean;
  readonly #schema: AnswerSchema | undefined;
  readonly #reminders = new Reminders();
  /** Parts of a reply that was cut off at its length limit. */
  #pieces: string[] = [];
  /** The reply after which the model was told to go on. */
  #doubted: string | undefined;
  #continuations = 0;
  #empties = 0;

  constructor({ schema, requiresFinish = false, counts }: JudgeOptions) {
    this.request = requestOf(schema, requiresFinish);
    this.#requiresFinish = requiresFinish;
    this.#schema = schema && new AnswerSchema(schema);
    this.finishing = new Finishing(counts, this.#schema);
  }

  /** The model went on with calls: what it said before is no part of the answer, unless it only updates its list. */
  startOver(calls: readonly CallPart[]): void {
    this.#pieces = [];
    this.finishing.startOver(calls);
    if (calls.every(({ tool }) => tool === "TodoWrite")) return;
    this.#doubted = undefined;
    this.#reminders.forget();
  }

  /** The answer that was accepted is not the last one after all. */
  takeBack(): void {
    this.finishing.takeBack();
    this.#doubted = undefined;
    this.#reminders.forget();
  }

  async judge(reply: { text: string; finish: FinishReason }, circumstances: Circumstances): Promise<AnswerJudgement> {
    if (reply.finish === "filter")
      return giveUp("content_policy", "The provider's content filter stopped the reply: rephrase the task");

    this.#pieces.push(reply.text);
    if (reply.finish === "length") return this.#continue();

    const said = this.#pieces.join("");
    this.#pieces = [];
    const isEmpty = said.trim() === "";
    // A model that has nothing to add is not asked for its answer once more.
    const text = isEmpty ? this.#doubted : said;
    if (text === undefined) return this.#askForText();

    const completion = this.#completionOf({ text, ...circumstances });
    const note = circumstances.mayGoOn && !isEmpty ? this.#reminders.note(text, completion) : undefined;
    if (note === undefined) return await this.#accept(text, completion.reasons);
    this.#doubted = text;
    return askAgain(note);
  }

  #continue(): AnswerJudgement {
    this.#continuations++;
    if (this.#continuations <= mostContinuations)
      return askAgain("Your reply was cut off at its length limit. Continue exactly where it stopped.");
    return giveUp(
      "max_output",
      `The answer was cut off at the model's output limit ${this.#continuations} times: raise --max-output-tokens or ask for less`,
    );
  }

  #askForText(): AnswerJudgement {
    this.#empties++;
    if (this.#empties <= mostEmpty)
      return askAgain("Your last reply was empty. Continue with the task, or give your answer.");
    return giveUp("empty", "The model returned an empty answer twice, so the run failed");
  }

  /** An answer with a schema is judged by the schema alone. */
  #completionOf(ending: Ending): Completion {
    if (this.#requiresFinish) return withoutFinish;
    return this.#schema === undefined ? judgeCompletion(ending) : complete;
  }

  async #accept(text: string, reasons: readonly string[]): Promise<AnswerJudgement> {
    if (this.#requiresFinish) return giveUp("incomplete", notFinished, text);
    const answer: AnswerJudgement = { kind: "answer", text: this.#reminders.whole(text) };
    const judgement = (await this.#schema?.checkText(text)) ?? answer;
    if (judgement.kind !== "answer" || reasons.length === 0) return judgement;
    return { ...judgement, incomplete: reasons };
  }
}

const notFinished = "The model ended without a call of Finish, which --finish required asks for";

const complete: Completion = { reasons: [], reminder: undefined };
const withoutFinish: Completion = {
  reasons: [],
  reminder: {
    text: "Go on with the task. If it is finished or cannot be finished, say so with Finish.",
    isPromise: false,
  },
};

/** Asks for the answer in the form that is checked. */
function requestOf(schema: JsonSchema | undefined, requiresFinish: boolean): string | undefined {
  const json = JSON.stringify(schema);
  if (requiresFinish) {
    const only = "Only a call of Finish ends this task.";
    return schema === undefined ? only : `${only} Its output must match this JSON Schema:\n${json}`;
  }
  return schema === undefined
    ? undefined
    : `Do the task with your tools first. Your final answer must then be one JSON value and nothing else, matching this JSON Schema:\n${json}`;
}
