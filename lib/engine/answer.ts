import { readJson } from "../config/json.ts";
import type { FinishReason, JsonSchema } from "../model/model.ts";
import type { Failure } from "./outcome.ts";
import { describeProblems, problemsOf } from "./schema.ts";

const mostContinuations = 3;
const mostEmpty = 1;
const mostRepairs = 2;

/** The verdict on a reply without calls: it is the answer, the model is asked again, or the run has failed. */
type Judgement =
  | { kind: "answer"; text: string; output?: unknown }
  | { kind: "again"; note: string }
  | { kind: "failed"; error: Failure };

/** Judges the replies of one turn that make no calls. Each kind of second chance is counted, so a turn always ends. */
export class AnswerJudge {
  readonly #schema: JsonSchema | undefined;
  /** Parts of an answer that took several replies. */
  #pieces: string[] = [];
  #continuations = 0;
  #empties = 0;
  #repairs = 0;

  constructor(schema: JsonSchema | undefined) {
    this.#schema = schema;
  }

  /** The model goes on with calls, or there is new input: what it said before is no part of the answer. */
  startOver(): void {
    this.#pieces = [];
  }

  async judge(reply: { text: string; finish: FinishReason }): Promise<Judgement> {
    if (reply.finish === "filter")
      return failed("content_policy", "The provider's content filter stopped the reply: rephrase the task");

    this.#pieces.push(reply.text);
    if (reply.finish === "length") return this.#continue();

    const text = this.#pieces.join("");
    this.#pieces = [];
    if (text.trim() === "") return this.#askForText();
    return this.#schema === undefined ? { kind: "answer", text } : await this.#check(text, this.#schema);
  }

  #continue(): Judgement {
    this.#continuations++;
    if (this.#continuations <= mostContinuations)
      return again("Your reply was cut off at its length limit. Continue exactly where it stopped.");
    return failed(
      "max_output",
      `The answer was cut off at the model's output limit ${this.#continuations} times: raise --max-output-tokens or ask for less`,
    );
  }

  #askForText(): Judgement {
    this.#empties++;
    if (this.#empties <= mostEmpty)
      return again("Your last reply was empty. Continue with the task, or give your answer.");
    return failed("empty", "The model returned an empty answer twice, so the run failed");
  }

  async #check(text: string, schema: JsonSchema): Promise<Judgement> {
    const json = withoutFence(text);
    const { value, problem } = parse(json);
    const complaint = problem ?? describeProblems(await problemsOf(value, schema));
    if (complaint === "") return { kind: "answer", text: json, output: value };

    this.#repairs++;
    if (this.#repairs <= mostRepairs)
      return again(
        `Your answer does not match the schema:\n${complaint}\nReply with the corrected JSON and nothing else.`,
      );
    return failed("schema", `The answer does not match the schema after ${mostRepairs} repairs:\n${complaint}`);
  }
}

/** The request for an answer that matches the schema. Not every provider can enforce one, so it is checked here. */
export function schemaRequest(schema: JsonSchema): string {
  return `Do the task with your tools first. Your final answer must then be one JSON value and nothing else, matching this JSON Schema:\n${JSON.stringify(schema)}`;
}

/** Models like to wrap JSON in a code fence. */
function withoutFence(text: string): string {
  return /^```(?:json)?\s*\n([\s\S]*?)\n?```$/.exec(text.trim())?.[1] ?? text.trim();
}

function parse(json: string): { value?: unknown; problem?: string } {
  const { value, problem } = readJson(json);
  return problem === undefined ? { value } : { problem: `- (top level): not JSON: ${problem}` };
}

const again = (note: string): Judgement => ({ kind: "again", note });
const failed = (code: Failure["code"], message: string): Judgement => ({
  kind: "failed",
  error: { code, message, retryable: false },
});
