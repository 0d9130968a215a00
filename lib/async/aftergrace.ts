/** A signal that follows another one after some time, for what has to be finished even when all is being stopped. */
export function afterGrace(signal: AbortSignal, ms: number): AbortSignal {
  const late = new AbortController();
  const follow = () => setTimeout(() => late.abort(signal.reason), ms).unref();
  if (signal.aborted) follow();
  else signal.addEventListener("abort", follow, { once: true });
  return late.signal;
}
