import { writableRoots } from "../lib/conversation/allowance.ts";
import { runTask } from "../lib/conversation/exec.ts";
import { Host } from "../lib/conversation/host.ts";
import { openConversation } from "../lib/conversation/open.ts";
import { makeTemporary } from "../lib/conversation/workspace/temporary.ts";
import type { Event } from "../lib/engine/event.ts";
import type { Outcome } from "../lib/engine/outcome.ts";
import { KodaError } from "../lib/errors.ts";
import { findGit } from "../lib/git/program.ts";
import { isDemo } from "../lib/model/demoname.ts";
import { namesCommit } from "../lib/review/comparison.ts";
import { findingsOf, readFindings, type Review, severeFailure } from "../lib/review/findings.ts";
import { reports } from "../lib/review/report.ts";
import { reviewRequest } from "../lib/review/review.ts";
import { hideFiles, openSubject, type Subject, whyNothing } from "../lib/review/subject.ts";
import type { ReviewTarget } from "../lib/review/target.ts";
import { Reaper } from "../lib/shell/reaper.ts";
import { answerInto, type Conclude, deliver, notifierFor } from "./deliver.ts";
import { answerFile } from "./exec.ts";
import { refuseOverwriting } from "./inputfiles.ts";
import { openNote } from "./note.ts";
import type { CommandOptions, ExecOptions } from "./options.ts";
import { ownFiles, ownOutput } from "./ownoutput.ts";
import { report as reportBug } from "./print.ts";
import { cassetteOf, settingsOf } from "./settings.ts";
import type { Stopper } from "./signals.ts";
import { sinkFor } from "./stdio.ts";
import { isTerminal } from "./terminal.ts";
import { version } from "./version.ts";

type ReviewFlags = CommandOptions<"review">;

/** `koda review`: one review to its end, and the exit code that its last event says. */
export async function review(options: ReviewFlags, stopper: Stopper): Promise<number> {
  const exec = asExec(options);
  refuseOverwriting(exec);
  const run: Run = { options, exec, answer: answerFile(exec), steps: [] };
  return await deliver((conclude) => task(run, stopper, conclude), {
    sink: await sinkFor(options),
    notifier: await notifierFor(exec),
    stop: stopper.controller,
    conclude: async (outcome, totals) => {
      let judgedOutcome = judged(outcome, options);
      for (const step of run.steps) judgedOutcome = await step(judgedOutcome, totals);
      return judgedOutcome;
    },
  });
}

type Run = { options: ReviewFlags; exec: ExecOptions; answer: string | undefined; steps: Conclude[] };

/** A review as exec's options say it: it only reads, and koda writes its prompt. */
function asExec(given: ReviewFlags): ExecOptions {
  const { hint: _, ...options } = given;
  return {
    ...options,
    image: [],
    mode: "plan",
    allowWrite: [],
    allowGit: false,
    allowConfig: false,
    stream: false,
    printSchema: false,
  };
}

async function* task(run: Run, stopper: Stopper, conclude: Conclude): AsyncGenerator<Event, void> {
  const { exec } = run;
  const host = new Host({ stop: stopper.controller, cassette: cassetteOf(exec), reaper: new Reaper() });
  stopper.killNow = () => host.killNow();
  await using held = new AsyncDisposableStack();
  yield* runTask(host, {
    open: () => open(run, host, held),
    conclude,
    report: async (error) => void (await reportBug(error)),
  });
}

/** The target is found before there is a session, so that a mistake in it leaves none. */
async function open({ options, exec, answer, steps }: Run, host: Host, held: AsyncDisposableStack) {
  const settings = await settingsOf(exec);
  if (isDemo(settings.loaded.config.model)) throw new KodaError("usage", demoCannotReview);
  const writable = writableRoots(settings);
  if (answer !== undefined) steps.push(await answerInto({ file: answer, writable, signal: host.signal }));
  host.clocks.start(settings.loaded.config.limits);
  const { root, env } = settings;
  const scratch = held.use(makeTemporary()).settings;
  const places = { root, scratch, own: ownFiles(exec), findGit: () => findGit(env.PATH, writable) };
  const subject = await openSubject(targetOf(options), places, host.signal);
  await refuseRevision(options, subject);
  const report = await reporter(options, subject);
  const nothing = whyNothing(subject);
  if (nothing !== undefined) {
    openNote(options)(nothing);
    return doneWith({ findings: [], summary: nothing }, report);
  }
  const conversation = await openConversation(host, { settings, own: ownOutput(exec), soon: true }, host.signal);
  const { agents, parts } = conversation;
  const shown = hideFiles(subject, parts.workspace.policy);
  const { hint, agent = "review" } = options;
  const request = reviewRequest({ subject: shown, hint, agent, agents, report });
  return { conversation, request, failOn: settings.failOn };
}

/** `koda review main` would review something else than the branch. */
async function refuseRevision({ hint, uncommitted }: ReviewFlags, { target, comparison }: Subject): Promise<void> {
  if (hint === undefined || uncommitted || target.kind !== "uncommitted" || comparison === undefined) return;
  if (!(await namesCommit(comparison, hint))) return;
  throw new KodaError(
    "usage",
    `HINT "${hint}" is the name of a branch, a tag or a commit: write koda review --base ${hint}, or --commit ${hint}; ` +
      `if it is a hint, add --uncommitted`,
  );
}

const demoCannotReview = "The demo model only plays its script and cannot review: name another model with -m";

function targetOf({ base, commit, target: text }: ReviewFlags): ReviewTarget {
  if (base !== undefined) return { kind: "base", base };
  if (commit !== undefined) return { kind: "commit", commit };
  return text === undefined ? { kind: "uncommitted" } : { kind: "text", text };
}

async function reporter({ format = "text" }: ReviewFlags, { prefix }: Subject): Promise<(review: Review) => string> {
  const columns = (await isTerminal(1)) ? process.stdout.columns || 80 : 80;
  return (found) => reports[format](found, { prefix, version, columns });
}

function doneWith(found: Review, report: (review: Review) => string): Outcome {
  return { status: "done", text: report(found), output: findingsOf(found) };
}

/** The outcome by --fail-on-severity. The review itself is whole, and is delivered. */
function judged(outcome: Outcome, { failOnSeverity: least }: ReviewFlags): Outcome {
  if (outcome.status !== "done" || least === undefined) return outcome;
  const failure = severeFailure(readFindings(outcome.output), least);
  if (failure === undefined) return outcome;
  const { code, message, retryable } = failure;
  return { ...outcome, status: "failed", error: { code, message, retryable } };
}
