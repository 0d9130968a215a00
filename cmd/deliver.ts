import { endEvent, noTotals, type Totals, undelivered } from "../lib/engine/end.ts";
import type { Event } from "../lib/engine/event.ts";
import { exitOf, failedAfterwards, type Outcome, outcomeOfError } from "../lib/engine/outcome.ts";
import { exitByCode, KodaError, messageOf } from "../lib/errors.ts";
import type { Sink } from "../lib/sink/sink.ts";
import { sinkFor } from "./stdio.ts";

/** The last step before the end event; it may change the outcome. */
export type Conclude = (outcome: Outcome, totals: Totals) => Promise<Outcome>;

type Delivery = { sink: Sink; stop: AbortController; conclude?: Conclude | undefined };

/**
 * Writes the events of a run and returns its exit code. A sink that fails stops the run, which is still followed to its
 * end: its outcome is recorded and its processes are stopped.
 */
export async function deliver(
  events: (conclude: Conclude) => AsyncIterable<Event>,
  { sink, stop, conclude }: Delivery,
): Promise<number> {
  let broken: KodaError | undefined;
  // stderr may still work when stdout does not, so every event is written.
  const stopped = (error: unknown) => {
    broken ??= error instanceof KodaError ? error : new KodaError("output", messageOf(error), { cause: error });
    stop.abort(broken);
  };
  const concluded: Conclude = async (outcome, totals) => {
    const delivered = broken === undefined ? outcome : undelivered(outcome, broken, totals);
    return (await conclude?.(delivered, totals)) ?? delivered;
  };

  let exit: number = exitByCode.internal;
  for await (const event of events(concluded)) {
    if (event.type === "end") ({ exit } = event);
    try {
      await sink.write(event);
    } catch (error) {
      stopped(error);
    }
  }
  await sink.flush().catch(stopped);
  // The sink has reported this on stderr with the end.
  return broken === undefined ? exit : exitByCode[broken.code];
}

type AnswerTarget = { file: string; writable: readonly string[]; signal: AbortSignal };

/**
 * Writes the answer to the file of `-o`, or removes the old file after a failure. The path is resolved before the run
 * starts; `writable` are the directories of commands.
 */
export async function answerInto({ file, writable, signal }: AnswerTarget): Promise<Conclude> {
  const { openAnswerFile } = await import("./answerfile.ts");
  const answer = openAnswerFile(file, writable);
  return async (outcome, { session }) => {
    if (outcome.status === "done") {
      try {
        await answer.write(outcome.text, signal);
        return outcome;
      } catch (error) {
        outcome = failedAfterwards(outcome, error);
      }
    }
    // A refused command line changes nothing.
    if (session === null && exitOf(outcome) === exitByCode.usage) return outcome;
    // The end already says that there is no answer.
    await answer.remove().catch(() => undefined);
    return outcome;
  };
}

/** The end of a command line that could not be parsed, in the format that it seems to ask for. */
export async function endUnread(error: unknown, argv: readonly string[], stop: AbortController): Promise<number> {
  const end = endEvent(outcomeOfError(error, stop.signal, ""), { ...noTotals(), durationMs: 0 });
  return await deliver(() => only(end), { sink: await sinkFor({ output: outputIn(argv) }), stop });
}

async function* only(event: Event): AsyncGenerator<Event, void> {
  yield event;
}

function outputIn(argv: readonly string[]): "text" | "json" | "jsonl" {
  const flags = argv.slice(0, argv.includes("--") ? argv.indexOf("--") : undefined).join(" ");
  if (/(^| )--(json|output[ =]jsonl)( |$)/.test(flags)) return "jsonl";
  return /(^| )--output[ =]json( |$)/.test(flags) ? "json" : "text";
}
