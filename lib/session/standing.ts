import type { LoggedItem } from "./item.ts";

/** The items of a log without the turns that were taken back. */
export function withoutRolledBack(items: Iterable<LoggedItem>): LoggedItem[] {
  const standing: LoggedItem[] = [];
  for (const item of items) {
    if (item.kind === "rollback") while ((standing.at(-1)?.turn ?? 0) > item.turn) standing.pop();
    else standing.push(item);
  }
  return standing;
}
