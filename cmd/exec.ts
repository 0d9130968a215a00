import { writableRoots } from "../lib/conversation/allowance.ts";
import { expandRequest } from "../lib/conversation/definitions.ts";
import { runTask } from "../lib/conversation/exec.ts";
import { Host } from "../lib/conversation/host.ts";
import { openConversation } from "../lib/conversation/open.ts";
import { RunPatch } from "../lib/conversation/runpatch.ts";
import { assertUnfinished } from "../lib/conversation/sessions.ts";
import type { Event } from "../lib/engine/event.ts";
import { KodaError } from "../lib/errors.ts";
import { Reaper } from "../lib/shell/reaper.ts";
import { followParent } from "../lib/system/orphan.ts";
import { answerInto, type Conclude, deliver, notifierFor, type OutputTarget } from "./deliver.ts";
import { refuseOverwriting } from "./inputfiles.ts";
import type { ExecOptions } from "./options.ts";
import { ownOutput } from "./ownoutput.ts";
import { asJson, print, report } from "./print.ts";
import { readPrompt } from "./prompt.ts";
import { cassetteOf, settingsOf } from "./settings.ts";
import type { Stopper } from "./signals.ts";
import { sinkFor } from "./stdio.ts";

/** `koda exec`: one task to its end, and the exit code that its last event says. */
export async function exec(options: ExecOptions, stopper: Stopper): Promise<number> {
  if (options.printSchema) return await printSchema();
  if (!followParent(process.env))
    stopper.controller.abort(new KodaError("sigterm", "Stopped: the process that has started this run is gone"));
  refuseOverwriting(options);
  const delivery: Delivering = { answer: answerFile(options), patch: patchFile(options), steps: [] };
  return await deliver((conclude) => task(options, stopper, { delivery, conclude }), {
    sink: await sinkFor(options),
    notifier: await notifierFor(options),
    stop: stopper.controller,
    conclude: async (outcome, totals) => {
      for (const step of delivery.steps) outcome = await step(outcome, totals);
      return outcome;
    },
  });
}

/** The files of `-o` and `--patch`, and the last steps, known as soon as it is known where commands may write. */
type Delivering = { answer: string | undefined; patch: string | undefined; steps: Conclude[] };

/** The file of `-o`; undefined for `-o -`, since in text mode stdout has the answer anyway. */
export function answerFile({ outputLastMessage: file, output = "text" }: ExecOptions): string | undefined {
  if (file !== "-") return file;
  if (output === "text") return undefined;
  throw new KodaError(
    "usage",
    `-o - cannot be used with --output ${output}, which writes to stdout: name a file, or read "text" in the end event`,
  );
}

function patchFile({ patch }: ExecOptions): string | undefined {
  if (patch !== "-") return patch;
  throw new KodaError("usage", "--patch - cannot be used, since stdout has the answer or the events: name a file");
}

async function printSchema(): Promise<number> {
  const { lineJsonSchema } = await import("../lib/engine/event.ts");
  await print(asJson(lineJsonSchema()));
  return 0;
}

/** The events of the run, from reading the prompt to the end of the last process. */
function task(
  options: ExecOptions,
  stopper: Stopper,
  { delivery, conclude }: { delivery: Delivering; conclude: Conclude },
): AsyncGenerator<Event, void> {
  const host = new Host({ stop: stopper.controller, cassette: cassetteOf(options), reaper: new Reaper() });
  stopper.killNow = () => host.killNow();
  return runTask(host, {
    open: () => open(options, host, delivery),
    conclude,
    report: async (error) => void (await report(error)),
  });
}

/**
 * Reads the prompt and opens the conversation. A refused command line must change nothing, so the prompt is read first
 * unless that has to wait for a pipe. Then both happen at once, and when one fails the other is abandoned.
 */
async function open(options: ExecOptions, host: Host, delivery: Delivering) {
  const failed = new AbortController();
  const waits = Promise.withResolvers<void>();
  const reading = readPrompt(options, { signal: AbortSignal.any([host.signal, failed.signal]), onWait: waits.resolve });
  const read = await Promise.race([reading, waits.promise]);

  // Without a prompt the run may still be refused, or have to wait for one.
  const soon = read !== undefined && read.parts.length > 0;
  const opening = openFor(options, host, { delivery, soon });
  // A pipe may stay open for hours, which is too long to learn that a key is missing.
  opening.catch(async (error: unknown) => {
    await Bun.sleep(patienceMs);
    failed.abort(error);
  });
  const [prompt, opened] = await Promise.allSettled([reading, opening]);
  // A missing prompt is reported first, whatever else is wrong.
  if (prompt.status === "rejected" && !failed.signal.aborted) throw prompt.reason;
  if (opened.status === "rejected") throw opened.reason;
  if (prompt.status === "rejected") throw prompt.reason;
  // The build makes the JIT reluctant, which suits start-up code. The first request and command are mostly that too,
  // and while a long log is read the compiler's threads take more than compiled code saves.
  setTimeout(() => Bun.unsafe.setJITPolicy(1), startUpMs).unref();
  const { conversation, settings } = opened.value;
  const { parts, late } = prompt.value;
  if (parts.length === 0) assertUnfinished(conversation.parts.session);
  if (late !== undefined) (await import("./lateinput.ts")).readLate(late, conversation.inbox);
  const asked = expandRequest(prompt.value, conversation.parts);
  const request = { ...asked, schema: settings.answerSchema, verify: settings.verify };
  return { conversation, request, failOn: settings.failOn };
}

const startUpMs = 150;

/** The time in which an empty pipe ends, so that the missing prompt is reported and not the model. */
const patienceMs = 50;

type Opening = { delivery: Delivering; soon: boolean };

async function openFor(options: ExecOptions, host: Host, { delivery, soon }: Opening) {
  const settings = await settingsOf(options);
  const patch = await openOutputs(delivery, { writable: writableRoots(settings), signal: host.signal });
  host.clocks.start(settings.loaded.config.limits);
  const conversation = await openConversation(host, { settings, own: ownOutput(options), patch, soon }, host.signal);
  return { conversation, settings };
}

/** The patch is written first: when that fails the run has failed, and then there is no answer. */
async function openOutputs({ answer, patch: file, steps }: Delivering, target: Omit<OutputTarget, "file">) {
  const patch = file === undefined ? undefined : new RunPatch();
  if (file !== undefined && patch !== undefined) {
    const { patchInto } = await import("./patchfile.ts");
    steps.push(patchInto({ file, ...target }, patch));
  }
  if (answer !== undefined) steps.push(await answerInto({ file: answer, ...target }));
  return patch;
}
