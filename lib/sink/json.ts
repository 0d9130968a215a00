import { lineOf } from "./jsonl.ts";
import type { Screen } from "./screen.ts";
import type { Writer } from "./sink.ts";

/** `--output json`: the `end` event and nothing else, in the form of a jsonl line that is also the first one. */
export function jsonWriter(screen: Screen): Writer {
  return async (event) => {
    if (event.type === "end") await screen.toStdout(lineOf(event, 0));
  };
}
