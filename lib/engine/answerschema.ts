import { readJson } from "../config/json.ts";
import type { JsonSchema } from "../model/model.ts";
import { askAgain, giveUp, type AnswerJudgement } from "./judgement.ts";
import { describeProblems, problemsOf } from "./schema.ts";

const mostRepairs = 2;

/** Checks the answer against its schema. Not every provider can enforce one, so it is checked here. */
export class AnswerSchema {
  readonly #schema: JsonSchema;
  #repairs = 0;

  constructor(schema: JsonSchema) {
    this.#schema = schema;
  }

  async checkText(text: string): Promise<AnswerJudgement> {
    const json = withoutFence(text);
    const { value, problem } = readJson(json);
    const complaint = problem === undefined ? await this.#complaint(value) : `- (top level): not JSON: ${problem}`;
    return complaint === ""
      ? { kind: "answer", text: json, output: value }
      : this.#repair(complaint, "Reply with the corrected JSON and nothing else.");
  }

  /** The same for the argument of a call. Some models write it as a text of JSON. */
  async checkOutput(output: unknown): Promise<AnswerJudgement> {
    const inner = typeof output === "string" ? readJson(withoutFence(output)).value : undefined;
    const value = inner === undefined || (await this.#complaint(output)) === "" ? output : inner;
    const complaint = value === undefined ? "- output: is missing" : await this.#complaint(value);
    return complaint === ""
      ? { kind: "answer", text: JSON.stringify(value), output: value }
      : this.#repair(complaint, "Call Finish again with the corrected output.");
  }

  async #complaint(value: unknown): Promise<string> {
    return describeProblems(await problemsOf(value, this.#schema));
  }

  #repair(complaint: string, request: string): AnswerJudgement {
    this.#repairs++;
    return this.#repairs <= mostRepairs
      ? askAgain(`Your answer does not match the schema:\n${complaint}\n${request}`)
      : giveUp("schema", `The answer does not match the schema after ${mostRepairs} repairs:\n${complaint}`);
  }
}

/** Models like to wrap JSON in a code fence. */
function withoutFence(text: string): string {
  return /^```(?:json)?\s*\n([\s\S]*?)\n?```$/.exec(text.trim())?.[1] ?? text.trim();
}
