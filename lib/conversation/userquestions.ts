import type { Event } from "../engine/event.ts";
import { OpenQuestions, type Waits } from "./openquestions.ts";

type Question = {
  id: string;
  question: string;
  /** Answers to choose from; another one may be given too. */
  options: readonly string[];
};

type QuestionOptions = { post: (event: Event) => void; waits: Waits };

/** Questions to the user, of the model's and of koda itself, that are answered by text. */
export class UserQuestions {
  readonly #post: QuestionOptions["post"];
  readonly #open: OpenQuestions<Pick<Question, "options">, string | undefined>;
  #isOver = false;

  constructor({ post, waits }: QuestionOptions) {
    this.#post = post;
    this.#open = new OpenQuestions(waits);
  }

  /** Settles with the answer; undefined when there is none. */
  async ask({ id: wanted, question, options }: Question): Promise<string | undefined> {
    if (this.#isOver) return undefined;
    const tell = (id: string) => this.#post({ type: "question", id, question, options: [...options] });
    return await this.#open.put({ options }, { wanted, tell });
  }

  /** The number of requests that a turn may make beyond its limit. */
  readonly askForMore = async (requests: number): Promise<number> => {
    const question = `This turn has made ${requests} requests, and the next is the last one (--max-turns). Go on?`;
    const answer = await this.ask({ id: `max-turns-${requests}`, question, options: ["stop", "+50", "+200"] });
    return /^\+\d{1,4}$/.test(answer ?? "") ? Number(answer) : 0;
  };

  /** The number of an option, or any text. Returns why it is no answer. */
  answer(id: string, text: string): string | undefined {
    const question = this.#open.find(id);
    if (question === undefined) return `No question "${id}" is open`;
    const chosen = /^\d+$/.test(text.trim()) ? question.options[Number(text) - 1] : undefined;
    this.#settle(id, chosen ?? text);
    return undefined;
  }

  /** Leaves what is open without an answer. */
  withdraw(): void {
    for (const id of this.#open.ids) this.#settle(id, undefined);
  }

  /** No answer can come any more. */
  close(): void {
    this.#isOver = true;
    this.withdraw();
  }

  #settle(id: string, answer: string | undefined): void {
    this.#open.settle(id, answer);
    this.#post({ type: "question.end", id, ...(answer !== undefined && { answer }) });
  }
}
