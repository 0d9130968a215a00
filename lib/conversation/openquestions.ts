/** Stops the clock of --idle-timeout while a question is open. */
export type Waits = () => Disposable;

type Question<Answer> = { settle: (answer: Answer) => void };

/** The questions to the user that wait for an answer, each under an id of its own. */
export class OpenQuestions<Q extends object, Answer> {
  readonly #waits: Waits;
  readonly #open = new Map<string, Q & Question<Answer>>();
  readonly #ids = new Set<string>();

  constructor(waits: Waits) {
    this.#waits = waits;
  }

  get ids(): Iterable<string> {
    return this.#open.keys();
  }

  find(id: string): Q | undefined {
    return this.#open.get(id);
  }

  /** Puts a question; `tell` is given the id under which it is answered. Settles with the answer. */
  async put(question: Q, { wanted, tell }: { wanted: string; tell: (id: string) => void }): Promise<Answer> {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const id = this.#newId(wanted);
    this.#open.set(id, { ...question, settle: resolve });
    tell(id);
    using _ = this.#waits();
    return await promise;
  }

  /** False when no such question is open. */
  settle(id: string, answer: Answer): boolean {
    const question = this.#open.get(id);
    this.#open.delete(id);
    question?.settle(answer);
    return question !== undefined;
  }

  /** Models use an id again: an answer that comes late must not be one to a later question. */
  #newId(wanted: string): string {
    let id = wanted;
    for (let count = 2; this.#ids.has(id); count++) id = `${wanted}#${count}`;
    this.#ids.add(id);
    return id;
  }
}
