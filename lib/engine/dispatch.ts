import { KodaError } from "../errors.ts";
import type { CallPart } from "../model/message.ts";
import type { Claim } from "../trust/claim.ts";
import { perform } from "./call.ts";
import type { Event } from "./event.ts";
import { runGuarded } from "./guard.ts";
import { isHooked } from "./judge.ts";
import { prepare, type Prepared } from "./prepare.ts";
import { waves } from "./schedule.ts";
import type { Turn } from "./turn.ts";

/**
 * Makes the calls of a reply. Every result is committed before its `tool.end` is announced; the history puts results
 * into the order of their calls, so calls that run together may finish in any order.
 */
export async function* dispatch(
  turn: Turn,
  calls: readonly CallPart[],
  signal: AbortSignal,
): AsyncGenerator<Event, void> {
  // git lists the files meanwhile. Whoever needs the snapshot learns that it failed.
  if (calls.some(({ tool }) => tool === "Bash")) turn.changes.watch(signal).catch(() => undefined);
  turn.loop.beginReply();
  const { tools } = turn.catalog.current;
  const prepared = await Promise.all(calls.map((call) => prepare(call, tools, turn.contextOf(call.id))));
  for (const wave of waves(prepared.map((call) => ({ call, claim: scheduledAs(turn, call) })))) {
    signal.throwIfAborted();
    const together = wave.map(({ call }) => call);
    turn.progress.mayHaveWritten ||= together.some(mayWrite);
    if (together.some((call) => mayWrite(call) || isHooked(turn, call))) yield* runWriting(turn, together, signal);
    else yield* runTogether(turn, together, signal);
  }
}

/** A call that a hook wants to see runs alone: the hook may write anything, and may change the call. */
function scheduledAs(turn: Turn, call: Prepared): Claim {
  return isHooked(turn, call) ? { ...call.claim, writes: "unknown" } : call.claim;
}

/** The calls fail while another run keeps this one from writing; the model may try them again. */
async function* runWriting(turn: Turn, wave: readonly Prepared[], signal: AbortSignal): AsyncGenerator<Event, void> {
  try {
    yield* runGuarded(turn, runTogether(turn, wave, signal), signal);
  } catch (error) {
    if (!(error instanceof KodaError) || error.code !== "busy") throw error;
    const failing = wave.map((call) => ({ ...call, mistake: error.message }));
    yield* runTogether(turn, failing, signal);
  }
}

/** The claim of a command, and of a server, is a guess. */
function mayWrite(call: Prepared): boolean {
  return call.claim.effect !== "read" || ("tool" in call && call.tool.isGuarded === true);
}

/** Settles when every call of the wave has ended. */
async function* runTogether(turn: Turn, wave: readonly Prepared[], signal: AbortSignal): AsyncGenerator<Event, void> {
  const calls = Promise.allSettled(wave.map((call) => perform(turn, call, signal)));
  turn.progress.work = calls;
  const settled = yield* turn.events.until(calls);
  const broken = settled.find((call) => call.status === "rejected");
  if (broken !== undefined) throw broken.reason;
}
