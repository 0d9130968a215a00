import type { Policy } from "../sandbox/policy.ts";
import type { Event } from "./event.ts";

/** What a turn changes in the project, whoever changed it: tools or commands. */
export type Changes = {
  /** Remembers how the project looks now, if that was not done in this turn: before the first call that may write. */
  watch(signal: AbortSignal): Promise<void>;
  /** What is different since, as an event; nothing when nothing was watched or nothing changed. */
  collect(): Promise<Event | undefined>;
  /** The number of files that were changed. */
  readonly files: number;
};
