/** The one place where values are pushed rather than pulled: several writers, one reader, in order of arrival. */
export class Channel<T> implements AsyncIterable<T> {
  #queue: T[] = [];
  #wake = Promise.withResolvers<void>();
  #closed = false;

  push(value: T): void {
    if (this.#closed) return;
    this.#queue.push(value);
    this.#wake.resolve();
  }

  /** What was pushed before is still delivered; what comes after is dropped. */
  close(): void {
    this.#closed = true;
    this.#wake.resolve();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void> {
    while (true) {
      const batch = this.#queue;
      this.#queue = [];
      yield* batch;
      if (batch.length > 0) continue;
      if (this.#closed) return;
      await this.#wake.promise;
      this.#wake = Promise.withResolvers<void>();
    }
  }
}
