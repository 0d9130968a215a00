import type { EventOf } from "../engine/event.ts";
import { summaryOfInput } from "../session/callsummary.ts";
import { oneLine, plain, seconds } from "./style.ts";

/** A call's input in a few words: `npm test`, `TODO src/`. */
export function describeInput(input: unknown, columns: number): string {
  return oneLine(summaryOfInput(input), columns);
}

/** How a call ended, and how long that took: `exit 1 · 0.4 s`. */
export function describeEnd(end: EventOf<"tool.end">, columns: number): string {
  const time = seconds(end.duration_ms);
  if (end.ok) return time;
  if (end.denied !== undefined) return `denied: ${oneLine(end.denied, columns - 10)}`;
  if (end.timed_out) return `timed out · ${time}`;
  if (end.signal !== undefined) return `killed by ${plain(end.signal)} · ${time}`;
  if (end.exit_code !== undefined) return `exit ${end.exit_code} · ${time}`;
  return `${oneLine(end.summary, columns - 12)} · ${time}`;
}
