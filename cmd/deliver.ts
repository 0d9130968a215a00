import { runTask } from "../lib/conversation/exec.ts";
import { Host } from "../lib/conversation/host.ts";
import { type Totals, undelivered, undeliveredEnd } from "../lib/engine/end.ts";
import type { Event, EventOf } from "../lib/engine/event.ts";
import { exitOf, failedAfterwards, type Outcome } from "../lib/engine/outcome.ts";
import { exitByCode, KodaError, messageOf } from "../lib/errors.ts";
import type { Sink } from "../lib/sink/sink.ts";
import type { Notifier } from "./notify.ts";
import type { ExecOptions } from "./options.ts";
import { report } from "./print.ts";
import { sinkFor } from "./stdio.ts";

/** Settles when the events so far have left the process; false when nobody reads them any more. */
type Delivered = () => Promise<boolean>;

/** The last step before the end event; it may change the outcome. */
export type Conclude = (outcome: Outcome, totals: Totals) => Promise<Outcome>;

type Delivery = {
  sink: Sink;
  stop: AbortController;
  conclude?: Conclude | undefined;
  notifier?: Notifier | undefined;
};

/**
 * Writes the events of a run and returns the exit code of its `end`. A sink that fails stops the run, which is still
 * followed to its end: its outcome is recorded and its processes are stopped.
 */
export async function deliver(
  events: (conclude: Conclude, delivered: Delivered) => AsyncIterable<Event>,
  { sink, stop, conclude, notifier }: Delivery,
): Promise<number> {
  let broken: KodaError | undefined;
  let end: EventOf<"end"> | undefined;
  const concluded: Conclude = async (outcome, totals) => {
    const delivered = broken === undefined ? outcome : undelivered(outcome, broken, totals);
    return (await conclude?.(delivered, totals)) ?? delivered;
  };

  // stderr may still work when stdout does not, so every event is written.
  for await (const event of events(concluded, () => sink.delivered())) {
    if (event.type === "end") end = event;
    notifier?.see(event);
    try {
      await sink.write(event);
    } catch (error) {
      broken ??= error instanceof KodaError ? error : new KodaError("output", messageOf(error), { cause: error });
      stop.abort(broken);
      if (end !== undefined) await sink.write((end = undeliveredEnd(end, broken)));
    }
  }
  // A stdout that failed was told of with the end.
  await sink.flush().catch(() => undefined);
  await notifier?.finished();
  return end?.exit ?? exitByCode.internal;
}

/** The command of `--notify`, if there is one. */
export async function notifierFor(
  options: Pick<ExecOptions, "notify" | "cd" | "allowWrite">,
): Promise<Notifier | undefined> {
  const { notify } = options;
  return notify === undefined ? undefined : (await import("./notify.ts")).openNotifier(notify, options);
}

export type OutputTarget = { file: string; writable: readonly string[]; signal: AbortSignal };

/**
 * Writes the answer to the file of `-o`, or removes the old file after a failure. The path is resolved before the run
 * starts; `writable` are the directories of commands.
 */
export async function answerInto({ file, writable, signal }: OutputTarget): Promise<Conclude> {
  const { openOutputFile } = await import("./outputfile.ts");
  const answer = openOutputFile(file, writable, { flag: "-o", what: "answer" });
  return async (outcome, { session }) => {
    // A review is whole, however severe its findings are.
    if (outcome.status === "done" || outcome.error.code === "severity") {
      try {
        await answer.write(outcome.text, signal);
        return outcome;
      } catch (error) {
        outcome = failedAfterwards({ status: "done", text: outcome.text }, error);
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
  const host = new Host({ stop, cassette: { loose: false } });
  const task = {
    async open() {
      throw error;
    },
    report: async (bug: unknown) => void (await report(bug)),
  };
  const sink = await sinkFor({ output: outputIn(argv) });
  return await deliver((conclude) => runTask(host, { ...task, conclude }), { sink, stop });
}

function outputIn(argv: readonly string[]): "text" | "json" | "jsonl" {
  const flags = argv.slice(0, argv.includes("--") ? argv.indexOf("--") : undefined).join(" ");
  if (/(^| )--(json|output[ =]jsonl)( |$)/.test(flags)) return "jsonl";
  return /(^| )--output[ =]json( |$)/.test(flags) ? "json" : "text";
}
