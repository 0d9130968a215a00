import type { Event } from "../engine/event.ts";
import type { Screen } from "./screen.ts";
import type { EventWriter } from "./sink.ts";

/** `--output jsonl`: one event a line, each on its way before the next one is taken. */
export function jsonlWriter(screen: Screen): EventWriter {
  let seq = 0;
  return (event) => screen.toStdout(lineOf(event, seq++));
}

/** `--output json`: only the `end` event, in the form of a jsonl line. */
export function jsonWriter(screen: Screen): EventWriter {
  return (event) => (event.type === "end" ? screen.toStdout(lineOf(event, 0)) : undefined);
}

/** JSON escapes lone surrogates, so any reader can decode the line. */
function lineOf(event: Event, seq: number): string {
  // Joined as text: a copy of the event with these fields in front would cost more than the rest.
  return `{"v":1,"seq":${seq},"at":"${timestamp(Date.now())}",${JSON.stringify(event).slice(1)}\n`;
}

let latest = { ms: Number.NaN, text: "" };

/** Many events come in one millisecond: formatting each would cost 20 ms in 20,000. */
function timestamp(ms: number): string {
  if (latest.ms !== ms) latest = { ms, text: new Date(ms).toISOString() };
  return latest.text;
}
