/** Lets everything else have its turn in the middle of long work: a signal, a deadline, another call. */
export async function yieldToEventLoop(signal?: AbortSignal): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  signal?.throwIfAborted();
}
