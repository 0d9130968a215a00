/** One piece of work after the other, in the order in which they were asked for. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  take<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    // Whoever asked for it hears of its failure, and the next one's turn comes all the same.
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}
