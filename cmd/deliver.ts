import { endEvent, failedAfterAll, isEnd, noTotals, undelivered } from "../lib/engine/end.ts";
import type { Event, EventOf } from "../lib/engine/event.ts";
import { outcomeOfError } from "../lib/engine/outcome.ts";
import { exitByCode, KodaError, messageOf } from "../lib/errors.ts";
import type { Sink } from "../lib/sink/sink.ts";
import { sinkFor } from "./stdio.ts";

type End = EventOf<"end">;

/** What is done before the last event is told, and may change it. */
export type Conclude = (end: End) => Promise<End>;

/**
 * Writes a run's events and returns its exit code. A sink that takes no more stops the run, which is then followed to
 * its end all the same: what happened is recorded, and nothing it started is left behind.
 */
export async function deliver(
  events: AsyncIterable<Event>,
  { sink, stop, conclude }: { sink: Sink; stop: AbortController; conclude?: Conclude },
): Promise<number> {
  let broken: KodaError | undefined;
  // What cannot be told on stdout any more is still told to people, so the sink is asked to the end.
  const stopped = (error: unknown) => {
    broken ??= error instanceof KodaError ? error : new KodaError("output", messageOf(error), { cause: error });
    stop.abort(broken);
  };

  let exit: number = exitByCode.internal;
  for await (let event of events) {
    if (isEnd(event)) {
      if (broken !== undefined) event = undelivered(event, broken);
      event = (await conclude?.(event)) ?? event;
      ({ exit } = event);
    }
    try {
      await sink.write(event);
    } catch (error) {
      stopped(error);
    }
  }
  await sink.flush().catch(stopped);
  // The sink has told people of it with the end.
  return broken === undefined ? exit : exitByCode[broken.code];
}

/**
 * Before the end is told, the answer is in its file (`-o`), or what was there before is gone. Which file that is has to
 * be settled before there are any events.
 */
export async function answerInto(file: string, signal: AbortSignal): Promise<Conclude> {
  const { settleAnswer } = await import("./answerfile.ts");
  const answer = await settleAnswer(file);
  return async (end) => {
    if (end.status === "done") {
      try {
        await answer.write(end.text, signal);
        return end;
      } catch (error) {
        end = failedAfterAll(end, error);
      }
    }
    // A command line that is refused changes nothing.
    if (end.session === null && end.exit === exitByCode.usage) return end;
    // What cannot be removed either is no news: the end says already that there is no answer.
    await answer.remove().catch(() => undefined);
    return end;
  };
}

/** A command line that could not be read ends like every other run, in the form that it seems to ask for. */
export async function endUnread(error: unknown, argv: readonly string[], stop: AbortController): Promise<number> {
  const end = endEvent(outcomeOfError(error, stop.signal, ""), noTotals(0));
  return await deliver(only(end), { sink: await sinkFor({ output: outputIn(argv) }), stop });
}

async function* only(event: Event): AsyncGenerator<Event, void> {
  yield event;
}

function outputIn(argv: readonly string[]): "text" | "json" | "jsonl" {
  const flags = argv.slice(0, argv.includes("--") ? argv.indexOf("--") : undefined).join(" ");
  if (/(^| )--(json|output[ =]jsonl)( |$)/.test(flags)) return "jsonl";
  return /(^| )--output[ =]json( |$)/.test(flags) ? "json" : "text";
}
