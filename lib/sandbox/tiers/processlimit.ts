/** A limit for each user does not count user 0; only a process namespace of its own can hold that one. */
export function processLimitNotes(): readonly string[] {
  return process.getuid?.() === 0 ? ["as user 0 the number of processes is not limited"] : [];
}
