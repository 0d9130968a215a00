import { unlessAborted } from "../../async/unlessaborted.ts";
import { searchWorkerUrl } from "./built.ts";
import type { Answers, Question } from "./worker.ts";

/**
 * Asks the search engine of our own. It works in a thread of its own, for one question: it may read without pause, and
 * an expression that backtracks for ever ends with the thread, at once.
 */
export function askWorker<Kind extends Question["kind"]>(
  question: Question & { kind: Kind },
  signal: AbortSignal,
): Promise<Answers[Kind]> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Answers[Kind]>();
  // Nothing of koda's environment is needed there, so nothing is there.
  const worker = new Worker(searchWorkerUrl, { env: {} });
  worker.addEventListener("message", ({ data }: MessageEvent<Answers[Kind]>) => resolve(data));
  worker.addEventListener("error", ({ message }) => reject(new Error(`The search worker failed: ${message}`)));
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- between threads there are no origins
  worker.postMessage(question);
  return unlessAborted(promise, signal).finally(() => worker.terminate());
}
