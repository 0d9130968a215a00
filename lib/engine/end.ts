import type { KodaError } from "../errors.ts";
import type { AgentEvent, EventOf } from "./event.ts";
import { noUsage } from "../model/usage.ts";
import type { ExecutableChange } from "../worktree/executable.ts";
import { exitOf, type Outcome, outcomeOfFailure } from "./outcome.ts";

type End = EventOf<"end">;

export type Totals = {
  session: string | null;
  usage: End["usage"];
  tools: End["tools"];
  filesChanged: number;
  executableChanges: readonly ExecutableChange[];
  verify?: NonNullable<End["verify"]>;
  agents?: NonNullable<End["agents"]>;
  /** MCP servers that never came. */
  mcp?: readonly NonNullable<End["mcp"]>[number][];
  durationMs: number;
  /** The command line that continues the session; null when there is nothing to continue. */
  resume: string | null;
};

/** The totals of a run that failed before it had a session. */
export function noTotals(): Omit<Totals, "durationMs"> {
  const tools = { ok: 0, failed: 0, denied: 0 };
  return { session: null, usage: noUsage, tools, filesChanged: 0, executableChanges: [], resume: null };
}

/**
 * The last event of a run, made once everything is closed. Its `exit` is the process's exit code; nothing else
 * decides it.
 */
export function endEvent(outcome: Outcome, totals: Totals): End {
  const { tools, filesChanged, executableChanges, durationMs, mcp = [], agents, ...rest } = totals;
  return {
    type: "end",
    ...statusOf(outcome),
    ...rest,
    text: outcome.text,
    ...answerOf(outcome),
    tools: { ...tools },
    files_changed: filesChanged,
    executable_changes: [...executableChanges],
    ...(agents !== undefined && Object.values(agents).some((count) => count > 0) && { agents: { ...agents } }),
    ...(mcp.length > 0 && { mcp: [...mcp] }),
    duration_ms: Math.round(durationMs),
  };
}

/** The last event of an agent, made once it is closed. */
export function agentEnd(outcome: Outcome, { session, usage, tools, durationMs }: Totals): AgentEvent {
  const { exit: _, ...status } = statusOf(outcome);
  return {
    type: "end",
    ...status,
    session: session ?? "",
    text: outcome.text,
    ...answerOf(outcome),
    usage,
    tools: { ...tools },
    duration_ms: Math.round(durationMs),
  };
}

function answerOf(outcome: Outcome): Pick<End, "output" | "incomplete"> {
  return {
    ...("output" in outcome && { output: outcome.output }),
    ...("incomplete" in outcome && { incomplete: [...(outcome.incomplete ?? [])] }),
  };
}

function statusOf(outcome: Outcome): Pick<End, "status" | "exit" | "error"> {
  const { status } = outcome;
  return { status, exit: exitOf(outcome), ...(status !== "done" && { error: failureField(outcome.error) }) };
}

/** The outcome of a run whose stdout failed: its answer or its events are lost. */
export function undelivered(outcome: Outcome, lost: KodaError, totals: Totals): Outcome {
  const error = outcome.status === "done" ? undefined : outcome.error;
  return error?.code === lost.code ? outcome : lossOf({ ...totals, text: outcome.text, error }, lost);
}

/** The same for an end that could not be written itself. */
export function undeliveredEnd(end: End, lost: KodaError): End {
  return end.error?.code === lost.code ? end : { ...end, ...statusOf(lossOf(end, lost)) };
}

type Ended = Pick<End, "session" | "resume" | "text"> & { error?: { message: string } | undefined };

function lossOf({ session, resume, text, error }: Ended, { code, message, retryable }: KodaError): Outcome {
  const kept = resume === null ? "" : `; "koda session show ${session}" prints it`;
  const reason = error?.message ?? `The answer was not delivered in full${kept}`;
  return outcomeOfFailure({ code, message: `${message}. ${reason}`, retryable }, text);
}

/** A failure as a field of an event. */
export function failureField(error: Extract<Outcome, { error: unknown }>["error"]): NonNullable<End["error"]> {
  const { httpStatus, retryAt, ...rest } = error;
  return {
    ...rest,
    ...(httpStatus !== undefined && { http_status: httpStatus }),
    ...(retryAt !== undefined && { retry_at: retryAt }),
  };
}
