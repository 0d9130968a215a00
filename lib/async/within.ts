/** Waits for the work, but no longer than that. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
