import { endEvent, failedAfterAll, isEnd, noTotals } from "../lib/engine/end.ts";
import type { Event, EventOf } from "../lib/engine/event.ts";
import { type OpenRun, openRun } from "../lib/engine/open.ts";
import { outcomeOfError } from "../lib/engine/outcome.ts";
import { assertUnfinished } from "../lib/engine/sessions.ts";
import { run } from "../lib/engine/run.ts";
import { KodaError } from "../lib/errors.ts";
import { adoptOrphans } from "../lib/shell/processes.ts";
import type { Prompt } from "../lib/engine/turn.ts";
import { Clocks } from "./clocks.ts";
import { answerInto, deliver } from "./deliver.ts";
import { refuseOverwriting } from "./inputfiles.ts";
import type { ExecOptions } from "./options.ts";
import { ownOutput } from "./ownoutput.ts";
import { asJson, print, report } from "./print.ts";
import { readPrompt } from "./prompt.ts";
import { settingsOf } from "./settings.ts";
import type { Stopper } from "./signals.ts";
import { sinkFor } from "./stdio.ts";

/** `koda exec`: one task to its end, and the exit code that its last event says. */
export async function exec(options: ExecOptions, stopper: Stopper): Promise<number> {
  if (options.printSchema) return await printSchema();
  refuseOverwriting(options);
  const file = answerFile(options);
  return await deliver(task(options, stopper), {
    sink: await sinkFor(options),
    stop: stopper.controller,
    ...(file !== undefined && { conclude: await answerInto(file, stopper.controller.signal) }),
  });
}

/** Undefined when there is none, also with `-o -`: in text mode stdout has the answer anyhow. */
function answerFile({ outputLastMessage: file, output = "text" }: ExecOptions): string | undefined {
  if (file !== "-") return file;
  if (output === "text") return undefined;
  throw new KodaError(
    "usage",
    `-o - cannot be used with --output ${output}, which has stdout to itself: name a file, or read "text" in the end event`,
  );
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

/**
 * Reads the prompt and opens the run. A command line that is refused changes nothing, so nothing is opened before all
 * that can be read at once has been; while a pipe is waited for, both happen together, and when one of them fails the
 * other is given up.
 */
async function prepare(
  options: ExecOptions,
  { clocks, startedAt }: Moment,
  signal: AbortSignal,
): Promise<{ prompt: Prompt; opened: OpenRun }> {
  const failed = new AbortController();
  const waits = Promise.withResolvers<void>();
  const reading = readPrompt(options, { signal: AbortSignal.any([signal, failed.signal]), onWait: waits.resolve });
  await Promise.race([reading, waits.promise]);

  const open = async () => {
    const settings = await settingsOf(options);
    clocks.start(settings.loaded.config.limits);
    return await openRun(settings, { startedAt, heard: () => clocks.heard(), own: ownOutput(options) }, signal);
  };
  const opening = open();
  // A pipe may take hours to its end, which is too long to learn that a key is missing.
  opening.catch((error: unknown) => failed.abort(error));
  const [prompt, opened] = await Promise.allSettled([reading, opening]);
  if (opened.status === "rejected") throw opened.reason;
  try {
    if (prompt.status === "rejected") throw prompt.reason;
    if (prompt.value.length === 0) assertUnfinished(opened.value.engine.session);
    return { prompt: prompt.value, opened: opened.value };
  } catch (error) {
    await opened.value.close();
    throw error;
  }
}
