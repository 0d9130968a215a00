import type { Event } from "../engine/event.ts";

type Question = {
  id: string;
  question: string;
  /** Answers to choose from; another one may be given too. */
  options: readonly string[];
};

type QuestionOptions = {
  post: (event: Event) => void;
  /** Stops the clock of --idle-timeout while a question is open. */
  waits: () => Disposable;
};

/** Questions to the user, of the model's and of koda itself, that are answered by text. */
export class UserQuestions {
  readonly #options: QuestionOptions;
  readonly #open = new Map<string, { options: readonly string[]; settle: (answer: string | undefined) => void }>();
  #isOver = false;

  constructor(options: QuestionOptions) {
    this.#options = options;
  }

  /** Settles with the answer; undefined when nobody gives one. */
  async ask({ id: wanted, question, options }: Question): Promise<string | undefined> {
    if (this.#isOver) return undefined;
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const id = this.#open.has(wanted) ? `${wanted}#${this.#open.size}` : wanted;
    this.#open.set(id, { options, settle: resolve });
    this.#options.post({ type: "question", id, question, options: [...options] });
    using _ = this.#options.waits();
    return await promise;
  }

  /** The number of requests that a turn may make beyond its limit. */
  readonly askForMore = async (requests: number): Promise<number> => {
    const question = `This turn has made ${requests} requests, and the next is the last one (--max-turns). Go on?`;
    const answer = await this.ask({ id: `max-turns-${requests}`, question, options: ["stop", "+50", "+200"] });
    return /^\+\d{1,4}$/.test(answer ?? "") ? Number(answer) : 0;
  };

  /** The number of an option, or any text. Returns why it is no answer. */
  answer(id: string, text: string): string | undefined {
    const question = this.#open.get(id);
    if (question === undefined) return `No question "${id}" is open`;
    const chosen = /^\d+$/.test(text.trim()) ? question.options[Number(text) - 1] : undefined;
    this.#settle(id, chosen ?? text);
    return undefined;
  }

  /** Nobody answers what is open now. */
  withdraw(): void {
    for (const id of this.#open.keys()) this.#settle(id, undefined);
  }

  /** Nobody answers any more. */
  close(): void {
    this.#isOver = true;
    this.withdraw();
  }

  #settle(id: string, answer: string | undefined): void {
    const question = this.#open.get(id);
    this.#open.delete(id);
    this.#options.post({ type: "question.end", id, ...(answer !== undefined && { answer }) });
    question?.settle(answer);
  }
}
