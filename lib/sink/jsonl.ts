import type { Event } from "../engine/event.ts";
import type { Screen } from "./screen.ts";
import type { Writer } from "./sink.ts";

/** `--output jsonl`: each event on a line of its own, on its way before the next one is taken. */
export function jsonlWriter(screen: Screen): Writer {
  let seq = 0;
  return (event) => screen.toStdout(lineOf(event, seq++));
}

/** An event in its envelope. JSON escapes what is no text (lone surrogates), so any reader can decode the line. */
export function lineOf(event: Event, seq: number): string {
  // Put together as text: a copy of the event with the envelope in front would cost more than the rest of it.
  return `{"v":1,"seq":${seq},"at":"${timestamp(Date.now())}",${JSON.stringify(event).slice(1)}\n`;
}

let latest = { ms: Number.NaN, text: "" };

/** Many pieces of text come in one millisecond: made for each, the text costs 20 ms in 20,000 of them. */
function timestamp(ms: number): string {
  if (latest.ms !== ms) latest = { ms, text: new Date(ms).toISOString() };
  return latest.text;
}
