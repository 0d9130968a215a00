import { fstatSync, writeSync } from "node:fs";
import { errnoOf } from "../lib/errors.ts";
import { openSink } from "../lib/sink/open.ts";
import { OutputStream } from "../lib/sink/output.ts";
import { withoutCommands } from "../lib/sink/runnerlog.ts";
import type { Sink, SinkOptions } from "../lib/sink/sink.ts";
import { wantsColor } from "../lib/sink/style.ts";
import type { ExecOptions } from "./options.ts";
import { isTerminal } from "./terminal.ts";

type SinkChoice = Partial<
  Pick<ExecOptions, "output" | "stream" | "outputSchema" | "quiet" | "verbose" | "color"> &
    Pick<SinkOptions, "isChat" | "isTyping" | "stdout" | "stderr">
>;

/** The sink for this process's streams. */
export async function sinkFor(choice: SinkChoice): Promise<Sink> {
  const { output, stream, outputSchema, quiet, verbose, color, isChat, isTyping } = choice;
  const stderrIsTerminal = await isTerminal(2);
  const stderr = choice.stderr ?? new OutputStream(2, "stderr");
  const sink = openSink({
    mode: output ?? "text",
    stdout: choice.stdout ?? new OutputStream(1, "stdout"),
    stderr: process.env["GITHUB_ACTIONS"] === "true" ? withoutCommands(stderr) : stderr,
    stdoutIsTerminal: await isTerminal(1),
    stderrIsTerminal,
    isOneStream: isOneStream(),
    stream: stream ?? false,
    isChat: isChat ?? false,
    ...(isTyping && { isTyping }),
    hasSchema: outputSchema !== undefined,
    quiet: quiet ?? false,
    verbose: verbose ?? false,
    color: wantsColor(color ?? "auto", stderrIsTerminal, process.env),
    // Only a terminal has a width, and the first query is slow.
    columns: stderrIsTerminal ? () => process.stderr.columns || 80 : () => 80,
  });
  if (stderrIsTerminal) process.on("exit", () => clearLine(sink));
  return sink;
}

/** A second signal may exit in the middle of a line. */
function clearLine(sink: Sink): void {
  const text = sink.clearLine();
  if (text === "") return;
  try {
    writeSync(2, text);
  } catch (error) {
    // The terminal is gone or blocked.
    if (errnoOf(error) === undefined) throw error;
  }
}

export function isOneStream(): boolean {
  try {
    const [out, err] = [fstatSync(1), fstatSync(2)];
    return out.dev === err.dev && out.ino === err.ino;
  } catch (error) {
    // One of the streams is closed.
    if (errnoOf(error) !== undefined) return false;
    throw error;
  }
}
