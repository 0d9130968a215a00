import type { Event, EventOf } from "../engine/event.ts";
import { jsonlWriter, jsonWriter } from "./jsonl.ts";
import { alreadyWritten } from "./output.ts";
import { openProgress } from "./progress.ts";
import { Screen } from "./screen.ts";
import type { EventWriter, Sink, SinkOptions, SinkOutput } from "./sink.ts";
import { textWriter } from "./text.ts";

/**
 * The sink of a run: the output mode on stdout, progress on stderr. When stdout fails, the write that finds out throws,
 * once; stderr still gets what follows, and `flush` throws the error again.
 */
export function openSink(options: SinkOptions): Sink {
  const screen = new Screen(options);
  const toStdout = openWriter(screen, options);
  const toStderr = openProgress(screen, { ...options, textIsShown: isLive(options) });
  let isStdoutLost = false;
  return {
    write(event) {
      if (isStdoutLost) return toStderr(event) ?? alreadyWritten;
      if (event.type === "end") return writeThrough(event);
      const written = toStdout(event);
      // Most events are pieces of text with nothing to wait for: they cost no promise.
      const isWritten = written === undefined || written === alreadyWritten;
      return isWritten ? (toStderr(event) ?? alreadyWritten) : writeBoth(written, event);
    },
    note: async (text) => await screen.toStderr(`${screen.stderrIsOpen ? "\n" : ""}${text}\n`),
    flush: () => screen.flush(),
    delivered: async () => !isStdoutLost && (await isFlushed(options.stdout)),
    clearLine: () => screen.clearLine(),
  };

  /** stderr reports success only after the answer has left the process; of a lost one it gets the end that follows. */
  async function writeThrough(event: EventOf<"end">): Promise<void> {
    try {
      await toStdout(event);
      await options.stdout.flush();
    } catch (error) {
      isStdoutLost = true;
      throw error;
    }
    await toStderr(event);
  }

  async function writeBoth(written: Promise<void>, event: Event): Promise<void> {
    try {
      await written;
    } catch (error) {
      isStdoutLost = true;
      await screen.wait(undefined);
      throw error;
    } finally {
      await toStderr(event);
    }
  }
}

async function isFlushed(output: SinkOutput): Promise<boolean> {
  try {
    await output.flush();
    return true;
  } catch {
    // The next write reports it.
    return false;
  }
}

function openWriter(screen: Screen, options: SinkOptions): EventWriter {
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
