/** Runs one piece of work after the other, in the order of the calls. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    // The caller gets the failure; the next work runs all the same.
    this.#last = result.catch(() => undefined);
    return result;
  }
}
