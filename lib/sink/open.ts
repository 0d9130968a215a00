import { jsonWriter } from "./json.ts";
import { jsonlWriter } from "./jsonl.ts";
import { undeliveredEnd } from "../engine/end.ts";
import type { Event, EventOf } from "../engine/event.ts";
import { KodaError } from "../errors.ts";
import { type Output, settled } from "./output.ts";
import { openProgress } from "./progress.ts";
import { Screen } from "./screen.ts";
import type { Sink, Writer } from "./sink.ts";
import { textWriter } from "./text.ts";

export type OutputMode = "text" | "json" | "jsonl";

export type SinkOptions = {
  mode: OutputMode;
  stdout: Output;
  stderr: Output;
  stdoutIsTerminal: boolean;
  stderrIsTerminal: boolean;
  /** Both are one pipe or one file, as after `2>&1`. */
  isOneStream?: boolean;
  /** Text as it comes, also where stdout is no terminal. */
  stream: boolean;
  /** The answer has to match a schema: what a run that failed said last is then no answer. */
  hasSchema?: boolean;
  quiet: boolean;
  verbose: boolean;
  /** Whether stderr gets colours; `wantsColor` decides. */
  color: boolean;
  /** How wide a line on stderr may be at this moment. */
  columns: () => number;
  /** How long a log may be silent before it is told that the run goes on. */
  heartbeatMs?: number;
};

/**
 * The sink of a run: the mode's bytes on stdout, everything for people on stderr. When stdout takes no more, the write
 * that finds out says so by throwing, once; people still get what follows, and `flush` throws it again.
 */
export function openSink(options: SinkOptions): Sink {
  const screen = new Screen(options);
  const toStdout = openWriter(screen, options);
  const toPeople = openProgress(screen, { ...options, textIsShown: isLive(options) });
  let isLost = false;
  return {
    write(event) {
      if (isLost) return toPeople(event) ?? settled;
      if (event.type === "end") return conclude(event);
      const written = toStdout(event);
      // Of most events, pieces of text, there is nothing to wait for: they cost no promise.
      const isWritten = written === undefined || written === settled;
      return isWritten ? (toPeople(event) ?? settled) : bothAfter(written, event);
    },
    flush: () => screen.flush(),
    leave: () => screen.leave(),
  };

  /** People read that all went well only when it did: the answer has left the process by then. */
  async function conclude(event: EventOf<"end">): Promise<void> {
    try {
      await toStdout(event);
      await options.stdout.flush();
    } catch (error) {
      isLost = true;
      await toPeople(error instanceof KodaError ? undeliveredEnd(event, error) : event);
      throw error;
    }
    await toPeople(event);
  }

  async function bothAfter(written: Promise<void>, event: Event): Promise<void> {
    try {
      await written;
    } catch (error) {
      isLost = true;
      await screen.wait(undefined);
      throw error;
    } finally {
      await toPeople(event);
    }
  }
}

function openWriter(screen: Screen, options: SinkOptions): Writer {
  switch (options.mode) {
    case "text":
      return textWriter(screen, { ...options, live: isLive(options) });
    case "json":
      return jsonWriter(screen);
    case "jsonl":
      return jsonlWriter(screen);
    default:
      return options.mode satisfies never;
  }
}

function isLive({ mode, stream, stdoutIsTerminal }: SinkOptions): boolean {
  return mode === "text" && (stream || stdoutIsTerminal);
}
