import type { KodaError } from "../errors.ts";
import type { Event, EventOf } from "./event.ts";
import { noUsage } from "../model/usage.ts";
import { exitOf, type Outcome, outcomeOfError } from "./outcome.ts";

type End = EventOf<"end">;

export type Totals = {
  session: string | null;
  usage: End["usage"];
  tools: End["tools"];
  filesChanged: number;
  durationMs: number;
  /** The command line that continues the session; null when there is nothing to continue. */
  resume: string | null;
};

/** The totals of a run that failed before it had a session. */
export function noTotals(durationMs: number): Totals {
  const tools = { ok: 0, failed: 0, denied: 0 };
  return { session: null, usage: noUsage, tools, filesChanged: 0, durationMs, resume: null };
}

/** The last event of a run. Its `exit` is the process's exit code; nothing else decides that code. */
export function endEvent(outcome: Outcome, totals: Totals): End {
  return {
    type: "end",
    status: outcome.status,
    exit: exitOf(outcome),
    ...(outcome.status !== "done" && { error: failureField(outcome.error) }),
    session: totals.session,
    text: outcome.text,
    ...(outcome.status === "done" && "output" in outcome && { output: outcome.output }),
    usage: totals.usage,
    tools: { ...totals.tools },
    files_changed: totals.filesChanged,
    duration_ms: Math.round(totals.durationMs),
    resume: totals.resume,
  };
}

/** The end of a run that came to its end and failed after all. An earlier failure stays the one that is told. */
export function failedAfterAll(end: End, error: unknown): End {
  if (end.status !== "done") return end;
  const failed = endEvent(outcomeOfError(error, new AbortController().signal, end.text), noTotals(0));
  return { ...end, status: failed.status, exit: failed.exit, ...(failed.error && { error: failed.error }) };
}

/** The end of a run whose stdout took no more: its answer or its events are lost, and people are told so. */
export function undelivered(end: End, lost: KodaError): End {
  if (end.error?.code === lost.code) return end;
  const kept = end.resume === null ? "" : `; "koda session show ${end.session}" prints it`;
  const earlier = end.error?.message ?? `The answer was not delivered in full${kept}`;
  const { status, exit, error } = endEvent(outcomeOfError(lost, new AbortController().signal, end.text), noTotals(0));
  return { ...end, status, exit, ...(error && { error: { ...error, message: `${error.message}. ${earlier}` } }) };
}

/** A failure as events carry it. */
export function failureField(error: Extract<Outcome, { error: unknown }>["error"]): NonNullable<End["error"]> {
  const { httpStatus, ...rest } = error;
  return httpStatus === undefined ? rest : { ...rest, http_status: httpStatus };
}

export function isEnd(event: Event): event is End {
  return event.type === "end";
}
