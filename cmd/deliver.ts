import { endEvent, isEnd, noTotals } from "../lib/engine/end.ts";
import type { Event } from "../lib/engine/event.ts";
import { outcomeOfError } from "../lib/engine/outcome.ts";
import { exitByCode, KodaError, messageOf } from "../lib/errors.ts";
import type { Sink } from "../lib/sink/sink.ts";
import { removeAnswer, writeAnswer } from "./answerfile.ts";
import { report } from "./print.ts";
import { sinkFor } from "./stdio.ts";

/**
 * Writes a run's events and returns its exit code. A sink that takes no more stops the run, which is then followed to
 * its end all the same: what happened is recorded, and nothing it started is left behind.
 */
export async function deliver(events: AsyncIterable<Event>, sink: Sink, stop: AbortController): Promise<number> {
  let broken: KodaError | undefined;
  // What cannot be told on stdout any more is still told to people, so the sink is asked to the end.
  const guarded = async (work: Promise<void>) => {
    try {
      await work;
    } catch (error) {
      broken ??= error instanceof KodaError ? error : new KodaError("output", messageOf(error), { cause: error });
      stop.abort(broken);
    }
  };

  let exit: number = exitByCode.internal;
  for await (const event of events) {
    if (isEnd(event)) exit = event.exit;
    await guarded(sink.write(event));
  }
  await guarded(sink.flush());
  if (broken === undefined) return exit;
  // The end has told of it already, unless it was the end itself that did not get out.
  return exit === exitByCode[broken.code] ? exit : await report(broken);
}

/** The same events; before the last one is told, the answer is in its file, or what was there before is gone. */
export async function* concluded(events: AsyncIterable<Event>, file: string | undefined): AsyncGenerator<Event, void> {
  for await (const event of events) {
    if (!isEnd(event) || file === undefined) {
      yield event;
      continue;
    }
    try {
      await (event.status === "done" ? writeAnswer(file, event.text) : removeAnswer(file));
      yield event;
    } catch (error) {
      const {
        status,
        exit,
        error: failure,
      } = endEvent(outcomeOfError(error, new AbortController().signal, ""), noTotals(0));
      yield event.status === "done" && failure !== undefined ? { ...event, status, exit, error: failure } : event;
    }
  }
}

/** A command line that could not be read ends like every other run, in the form that it seems to ask for. */
export async function endUnread(error: unknown, argv: readonly string[], stop: AbortController): Promise<number> {
  const end = endEvent(outcomeOfError(error, stop.signal, ""), noTotals(0));
  return await deliver(only(end), await sinkFor({ output: outputIn(argv) }), stop);
}

async function* only(event: Event): AsyncGenerator<Event, void> {
  yield event;
}

function outputIn(argv: readonly string[]): "text" | "json" | "jsonl" {
  const flags = argv.slice(0, argv.includes("--") ? argv.indexOf("--") : undefined).join(" ");
  if (/(^| )--(json|output[ =]jsonl)( |$)/.test(flags)) return "jsonl";
  return /(^| )--output[ =]json( |$)/.test(flags) ? "json" : "text";
}
