import { fstatSync } from "node:fs";
import { errnoOf } from "../lib/errors.ts";
import { type OutputMode, openSink } from "../lib/sink/open.ts";
import { Output } from "../lib/sink/output.ts";
import type { Sink } from "../lib/sink/sink.ts";
import { wantsColor } from "../lib/sink/style.ts";
import { isTerminal } from "./terminal.ts";

export type SinkChoice = {
  output?: OutputMode;
  stream?: boolean;
  outputSchema?: string;
  quiet?: boolean;
  verbose?: boolean;
  color?: "auto" | "always" | "never";
};

/** The sink of this process's own streams. */
export async function sinkFor(choice: SinkChoice): Promise<Sink> {
  const { output, stream, outputSchema, quiet, verbose, color } = choice;
  const stderrIsTerminal = await isTerminal(2);
  return openSink({
    mode: output ?? "text",
    stdout: new Output(1, "stdout"),
    stderr: new Output(2, "stderr"),
    stdoutIsTerminal: await isTerminal(1),
    stderrIsTerminal,
    isOneStream: isOneStream(),
    stream: stream ?? false,
    hasSchema: outputSchema !== undefined,
    quiet: quiet ?? false,
    verbose: verbose ?? false,
    color: wantsColor(color ?? "auto", stderrIsTerminal, process.env),
    // Only a terminal has a width, and asking for it is slow.
    columns: stderrIsTerminal ? () => process.stderr.columns || 80 : () => 80,
  });
}

function isOneStream(): boolean {
  try {
    const [out, err] = [fstatSync(1), fstatSync(2)];
    return out.dev === err.dev && out.ino === err.ino;
  } catch (error) {
    // One of them is closed.
    if (errnoOf(error) !== undefined) return false;
    throw error;
  }
}
