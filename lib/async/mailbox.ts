/**
 * Many writers, one reader, in order of arrival: the one place where values are pushed rather than pulled. Values that
 * arrive while nobody reads wait for the next reader.
 */
export class Mailbox<T> {
  #waiting: T[] = [];
  #wake = Promise.withResolvers<void>();

  post(value: T): void {
    this.#waiting.push(value);
    this.#wake.resolve();
  }

  /** Everything that has arrived. A reader that leaves loses nothing that it has not seen. */
  *drain(): Generator<T, void> {
    while (this.#waiting.length > 0) yield this.#waiting.shift() as T;
  }

  /** The result of the work. Values that arrive meanwhile come out at once, and all of them before the result. */
  async *until<R>(work: Promise<R>): AsyncGenerator<T, R> {
    let isOver = false;
    const finish = () => {
      isOver = true;
      this.#wake.resolve();
    };
    work.then(finish, finish);
    while (true) {
      yield* this.drain();
      if (isOver) return await work;
      await this.#wake.promise;
      this.#wake = Promise.withResolvers<void>();
    }
  }
}
