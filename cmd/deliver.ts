import { endEvent, noTotals, type Totals, undelivered } from "../lib/engine/end.ts";
import type { Event } from "../lib/engine/event.ts";
import { exitOf, failedAfterwards, type Outcome, outcomeOfError } from "../lib/engine/outcome.ts";
import { exitByCode, KodaError, messageOf } from "../lib/errors.ts";
import type { Sink } from "../lib/sink/sink.ts";
import { sinkFor } from "./stdio.ts";

/** The last thing that is done before the end is told; it may change the outcome. */
export type Conclude = (outcome: Outcome, totals: Totals) => Promise<Outcome>;

type Delivery = { sink: Sink; stop: AbortController; conclude?: Conclude | undefined };

/**
 * Writes a run's events and returns its exit code. A sink that takes no more stops the run, which is then followed to
 * its end all the same: what happened is recorded, and nothing it started is left behind.
 */
export async function deliver(
  events: (conclude: Conclude) => AsyncIterable<Event>,
  { sink, stop, conclude }: Delivery,
): Promise<number> {
  let broken: KodaError | undefined;
  // People still get on stderr what stdout takes no more, so the sink is asked to the end.
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
  return async (outcome, { session }) => {
    if (outcome.status === "done") {
      try {
        await answer.write(outcome.text, signal);
        return outcome;
      } catch (error) {
        outcome = failedAfterwards(outcome, error);
      }
    }
    // A command line that is refused changes nothing.
    if (session === null && exitOf(outcome) === exitByCode.usage) return outcome;
    // The end says already that there is no answer, so a file that cannot be removed either adds nothing.
    await answer.remove().catch(() => undefined);
    return outcome;
  };
}

/** A command line that could not be read ends like every other run, in the form that it seems to ask for. */
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
