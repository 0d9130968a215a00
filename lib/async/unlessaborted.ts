/**
 * The result of the promise, or the signal's reason once it is aborted and the grace is over. The work itself is not
 * stopped; its result is dropped then.
 */
export async function unlessAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  { graceMs }: { graceMs?: number } = {},
): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  let timer: Timer | undefined;
  const giveUp = () => {
    if (graceMs === undefined) reject(signal.reason);
    else timer = setTimeout(() => reject(signal.reason), graceMs);
  };
  signal.addEventListener("abort", giveUp, { once: true });
  if (signal.aborted) giveUp();
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", giveUp);
    clearTimeout(timer);
  }
}
