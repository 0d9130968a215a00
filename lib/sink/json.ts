import { lineOf } from "./jsonl.ts";
import type { Screen } from "./screen.ts";
import type { Writer } from "./sink.ts";

/** `--output json`: the `end` event and nothing else, in the form of a jsonl line that is also the first one. */
export function jsonWriter(screen: Screen): Writer {
  return (event) => (event.type === "end" ? screen.toStdout(lineOf(event, 0)) : undefined);
}
