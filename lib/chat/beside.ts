import type { Mailbox } from "../async/mailbox.ts";

/** The events of some work, and at once what is posted meanwhile. */
export async function* beside<T, R>(posted: Mailbox<T>, work: AsyncGenerator<T, R>): AsyncGenerator<T, R> {
  try {
    while (true) {
      const step = yield* posted.until(work.next());
      if (step.done === true) return step.value;
      yield step.value;
    }
  } finally {
    // The reader may have left.
    await work.return(undefined as R);
  }
}
