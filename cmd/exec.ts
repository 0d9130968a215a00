import { endEvent, failedAfterAll, isEnd, noTotals } from "../lib/engine/end.ts";
import type { Event, EventOf } from "../lib/engine/event.ts";
import { type OpenRun, openRun } from "../lib/engine/open.ts";
import { outcomeOfError } from "../lib/engine/outcome.ts";
import { run } from "../lib/engine/run.ts";
import { KodaError } from "../lib/errors.ts";
import { adoptOrphans } from "../lib/shell/processes.ts";
import type { Prompt } from "../lib/engine/turn.ts";
import { Clocks } from "./clocks.ts";
import { answerInto, deliver } from "./deliver.ts";
import type { ExecOptions } from "./options.ts";
import { asJson, print, report } from "./print.ts";
import { readPrompt } from "./prompt.ts";
import { settingsOf } from "./settings.ts";
import type { Stopper } from "./signals.ts";
import { sinkFor } from "./stdio.ts";

/** `koda exec`: one task to its end, and the exit code that its last event says. */
export async function exec(options: ExecOptions, stopper: Stopper): Promise<number> {
  if (options.printSchema) return await printSchema();
  const { outputLastMessage: file } = options;
  return await deliver(task(options, stopper), {
    sink: await sinkFor(options),
    stop: stopper.controller,
    ...(file !== undefined && { conclude: await answerInto(file, stopper.controller.signal) }),
  });
}

async function printSchema(): Promise<number> {
  const { lineJsonSchema } = await import("../lib/engine/event.ts");
  await print(asJson(lineJsonSchema()));
  return 0;
}

/** Everything that happens, from reading the prompt to the end of the last process. */
async function* task(options: ExecOptions, stopper: Stopper): AsyncGenerator<Event, void> {
  const startedAt = performance.now();
  // All that koda starts is its own to take down again, so it becomes the parent of whatever loses its parent.
  adoptOrphans();
  const { signal } = stopper.controller;
  const clocks = new Clocks(stopper.controller);
  try {
    const { prompt, opened } = await prepare(options, { clocks, startedAt }, signal);
    // The build starts with a reluctant compiler, for what runs once; from here on things run often.
    Bun.unsafe.setJITPolicy(1);
    stopper.lastWill = () => opened.killNow();
    for await (const event of run(prompt, opened, signal)) {
      // What the run started is gone before its end is told.
      if (isEnd(event)) yield* closed(opened, event);
      else yield event;
    }
  } catch (error) {
    if (!(error instanceof KodaError)) await report(error);
    yield endEvent(outcomeOfError(error, signal, ""), noTotals(performance.now() - startedAt));
  } finally {
    clocks.stop();
  }
}

async function* closed(opened: OpenRun, end: EventOf<"end">): AsyncGenerator<Event, void> {
  try {
    yield* await opened.close();
    yield end;
  } catch (error) {
    if (!(error instanceof KodaError)) await report(error);
    yield failedAfterAll(end, error);
  }
}

type Moment = { clocks: Clocks; startedAt: number };

/** Reads the prompt and opens the run at the same time; when one of them fails, the other is let go of. */
async function prepare(
  options: ExecOptions,
  { clocks, startedAt }: Moment,
  signal: AbortSignal,
): Promise<{ prompt: Prompt; opened: OpenRun }> {
  const failed = new AbortController();
  const open = async () => {
    const settings = await settingsOf(options);
    clocks.start(settings.loaded.config.limits);
    return await openRun(settings, { startedAt, heard: () => clocks.heard() }, signal);
  };
  const opening = open();
  // Nobody waits for a pipe's end when it is known that nothing will be done with what comes.
  opening.catch((error: unknown) => failed.abort(error));
  const reading = readPrompt(options, AbortSignal.any([signal, failed.signal]));

  const [prompt, opened] = await Promise.allSettled([reading, opening]);
  if (opened.status === "rejected") throw opened.reason;
  if (prompt.status === "fulfilled") return { prompt: prompt.value, opened: opened.value };
  await opened.value.close();
  throw prompt.reason;
}
