import { unlessAborted } from "../async/unlessaborted.ts";
import { within } from "../async/within.ts";
import { counted } from "../counted.ts";
import { KodaError, messageOf } from "../errors.ts";
import { runCommand } from "../tools/bash.ts";
import { failed, resultText, type ToolResult } from "../tools/tool.ts";
import { callGraceMs } from "./call.ts";
import type { Event, EventOf } from "./event.ts";
import { runGuarded } from "./guard.ts";
import type { AnswerJudgement } from "./judgement.ts";
import type { Turn } from "./turn.ts";

/** The user's command that decides whether an answer is good (`--verify`), and how it went so far. */
export type Verification = {
  readonly command: string;
  /** The most runs of it. */
  readonly most: number;
  attempts: number;
  passed: boolean;
};

type Answer = Extract<AnswerJudgement, { kind: "answer" }>;

/** Runs the user's command on an answer. One that does not pass is not the last, as long as there are attempts left. */
export async function* verify(turn: Turn, answer: Answer, signal: AbortSignal): AsyncGenerator<Event, AnswerJudgement> {
  const { verification: check, session } = turn;
  if (check === undefined) return answer;
  turn.progress.text = answer.text;
  const stopped = yield* backgroundEnds(turn, signal);

  const result = yield* runGuarded(turn, attempt(turn, check, signal), signal);
  check.passed = result.ok;
  if (result.ok) return answer;

  const note = complaint(check, result, stopped);
  if (check.attempts < check.most) {
    turn.judge.takeBack();
    return { kind: "again", note };
  }
  // A session that goes on after this has to know why.
  session.append({ kind: "note", text: note });
  return { kind: "failed", error: { code: "verification", message: neverPassed(check, result), retryable: false } };
}

function complaint({ command, attempts, most }: Verification, result: ToolResult, stopped: readonly string[]): string {
  return [
    `Your answer is not accepted: the user's check \`${command}\` failed (attempt ${attempts} of ${most}).`,
    resultText(result),
    ...(stopped.length === 0 ? [] : [`Background commands were stopped before it: ${stopped.join(", ")}.`]),
    "Fix the cause, then end the task again with your whole final answer: it replaces the last one.",
  ].join("\n\n");
}

function neverPassed({ command, attempts }: Verification, { exitCode, signal, timedOut }: ToolResult): string {
  const how = timedOut === true ? "timed out" : signal === undefined ? `exit ${exitCode}` : `killed by ${signal}`;
  const said = `The verification "${command}" never passed in ${counted(attempts, "attempt")} (${how})`;
  return `${said}: continue the session, or raise --verify-attempts`;
}

/** The longest wait for background commands, which still write: one that serves something never ends. */
const backgroundSeconds = 30;

/** Waits for the background commands, and returns those that had to be stopped. */
async function* backgroundEnds(turn: Turn, signal: AbortSignal): AsyncGenerator<Event, readonly string[]> {
  const { tasks, shell } = turn.contextOf("verify");
  const running = () =>
    tasks.list().flatMap(({ id, command, state }) => (state.status === "running" ? `${id} (${command})` : []));
  if (running().length === 0) return [];

  const seconds = Math.min(backgroundSeconds, shell.maxSeconds);
  yield notice(`The verification waits up to ${seconds} s for background commands to end: ${running().join(", ")}`);
  {
    // koda itself is what waits.
    using _ = turn.waits();
    yield* turn.events.until(unlessAborted(within(seconds * 1000, tasks.ended()), signal));
  }
  turn.heard();
  const stopped = running();
  if (stopped.length === 0) return [];
  yield notice(`Background commands were stopped for the verification: ${stopped.join(", ")}`);
  yield* turn.events.until(tasks.stopAll());
  return stopped;
}

function notice(message: string): Event {
  return { type: "notice", level: "info", code: "verify", message };
}

/** One run of the command, from `verify.start` to `verify.end`. */
async function* attempt(turn: Turn, check: Verification, signal: AbortSignal): AsyncGenerator<Event, ToolResult> {
  const { command, most } = check;
  const attempts = ++check.attempts;
  yield { type: "verify.start", attempt: attempts, max: most, command };
  const startedAt = performance.now();
  const running = unlessAborted(run(turn, check, signal), signal, { graceMs: callGraceMs });
  const settled = Promise.allSettled([running]);
  turn.progress.work = settled;
  const [ended] = yield* turn.events.until(settled);
  const result = ended.status === "fulfilled" ? ended.value : failed(`[interrupted: ${messageOf(ended.reason)}]`);
  yield endOf(check, result, performance.now() - startedAt);
  if (ended.status === "rejected") throw ended.reason;
  return result;
}

/** Runs it like any command of a call, but under the policy of the whole run: it is the user's own. */
async function run(turn: Turn, { command, attempts }: Verification, signal: AbortSignal): Promise<ToolResult> {
  const call = `verify-${attempts}`;
  const context = turn.contextOf(call);
  const report = (stream: "stdout" | "stderr", text: string) => {
    turn.heard();
    turn.events.post({ type: "verify.output", attempt: attempts, stream, text });
  };
  const limit = { seconds: context.shell.maxSeconds, notes: [] };
  const result = await runCommand(command, limit, { ...context, call, signal, report });
  signal.throwIfAborted();
  if (result.confined === false) throw new KodaError("sandbox", `${notSetUp}: ${resultText(result)}`);
  const exposure = turn.watchKey("--verify", resultText(result));
  if (exposure !== undefined) turn.events.post(exposure);
  return result;
}

const notSetUp = "The sandbox could not be set up for the verification; run koda doctor for details";

function endOf({ attempts }: Verification, result: ToolResult, durationMs: number): EventOf<"verify.end"> {
  const { ok, exitCode, signal, timedOut, hint, output } = result;
  return {
    type: "verify.end",
    attempt: attempts,
    passed: ok,
    ...(exitCode !== undefined && { exit_code: exitCode }),
    ...(signal !== undefined && { signal }),
    ...(timedOut !== undefined && { timed_out: timedOut }),
    duration_ms: Math.round(durationMs * 10) / 10,
    ...(hint !== undefined && { hint }),
    summary: resultText(result),
    ...(output !== undefined && { output_id: output }),
  };
}
