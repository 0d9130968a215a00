const limitMs = 30_000;

/** Waits for what no event tells. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  what: string | (() => string) = String(holds),
): Promise<void> {
  const start = performance.now();
  while (!(await holds())) {
    if (performance.now() - start > limitMs)
      throw new Error(`Within ${limitMs / 1000} s there was not: ${typeof what === "string" ? what : what()}`);
    await Bun.sleep(5);
  }
}
