import { unlessAborted } from "../async/unlessaborted.ts";
import { KodaError, messageOf } from "../errors.ts";
import { finishName } from "../tools/finish.ts";
import { failed, resultText, type ToolResult } from "../tools/tool.ts";
import { shortened } from "../session/graphemes.ts";
import type { ItemOf, SkillText } from "../session/item.ts";
import type { TodoItem } from "../session/todo.ts";
import type { EventOf } from "./event.ts";
import { judgeCall, tellHooks } from "./judge.ts";
import { countCall, countCommand, type Ledger } from "./ledger.ts";
import type { Repetition } from "./loop.ts";
import { nameOfTool, type Prepared } from "./prepare.ts";
import type { Turn } from "./turn.ts";

/** One call: the verdict, `tool.start`, the tool, the result in the log, `tool.end`. Every call passes here. */
export async function perform(turn: Turn, asked: Prepared, signal: AbortSignal): Promise<void> {
  const { id } = asked.call;
  const tool = nameOfTool(asked);
  const { todo } = turn.session;
  const listBefore = todo.items;

  const { call, refusal } = await judge(turn, asked, signal);
  turn.events.post({ type: "tool.start", id, tool, input: call.input, effect: call.claim.effect });
  const startedAt = performance.now();
  const attempted: Attempted<ToolResult> =
    refusal ?? interruptedBy(signal, await attempt(() => run(turn, call, signal)));
  const { result, error } = attempted;
  const durationMs = Math.round((performance.now() - startedAt) * 10) / 10;

  // A turn may end again and again the same way, as long as no end is accepted; a denied or mistaken one is none.
  const isEnd = tool === finishName && result.denied === undefined && !("mistake" in asked);
  const isObserved = error === undefined && !isEnd;
  const repetition = isObserved ? turn.loop.observe(tool, asked.input, lastingText(result)) : "new";
  const list = todo.items === listBefore ? undefined : todo.items;
  const told = call === asked ? result : withRewriting(result, call);
  finish(turn, call, { result: withNote(told, repetition), durationMs, list });
  if (error !== undefined) throw error.cause;
  if (refusal === undefined) await tellHooks(turn, call, result, signal);
  if (repetition === "stuck")
    throw new KodaError("loop", `The model keeps calling ${tool} with the same arguments and the same result`);
}

/** The call as it will run, or the result in its place. */
async function judge(turn: Turn, asked: Prepared, signal: AbortSignal) {
  const { result: judged, error } = await attempt(() => judgeCall(turn, asked, signal));
  if ("ok" in judged) return { call: asked, refusal: { result: judged, ...(error && { error }) } };
  const { call, refusal } = judged;
  return { call, refusal: refusal && { result: refusal } };
}

type Attempted<T> = { result: T | ToolResult; error?: { cause: unknown } };

/** Turns a failure into a result: every call has one, however it ended. */
async function attempt<T extends object>(work: () => Promise<T>): Promise<Attempted<T>> {
  try {
    return { result: await work() };
  } catch (cause) {
    return { result: failed(`[interrupted: ${messageOf(cause)}]`), error: { cause } };
  }
}

/** A call that ended although it was stopped keeps its result: the model may have to know how far it came. */
function interruptedBy(signal: AbortSignal, attempted: Attempted<ToolResult>): Attempted<ToolResult> {
  if (!signal.aborted || attempted.error !== undefined) return attempted;
  const note = { type: "text" as const, text: `[interrupted: ${messageOf(signal.reason)}]\n` };
  const { result } = attempted;
  return { result: { ...result, ok: false, parts: [note, ...result.parts] }, error: { cause: signal.reason } };
}

/** A call that ignores an abort is abandoned after this time. */
export const callGraceMs = 2_000;

async function run(turn: Turn, call: Prepared, signal: AbortSignal): Promise<ToolResult> {
  if ("mistake" in call) return failed(call.mistake);
  const { id } = call.call;
  const { writes } = call.claim;
  // An agent may be at the same file.
  using _ = await turn.locks.hold(writes === "unknown" ? [] : writes, signal);
  let isOver = false;
  const context = turn.contextOf(id, call.claim);
  const work = call.tool.run(call.input as never, {
    ...context,
    egress: { ...context.egress, onRequest: (request) => (isOver ? undefined : context.egress.onRequest(request)) },
    call: id,
    signal,
    finish: (end) => turn.judge.finishing.accept(id, end),
    report(stream, text) {
      if (isOver) return;
      turn.heard();
      turn.events.post({ type: "tool.output", id, stream, text });
    },
  });
  try {
    return await unlessAborted(work, signal, { graceMs: call.tool.graceMs ?? callGraceMs });
  } finally {
    isOver = true;
  }
}

type Finished = { result: ToolResult; durationMs: number; list: readonly TodoItem[] | undefined };

/** Commits the result, counts it, and then announces it. */
function finish(turn: Turn, call: Prepared, { result, durationMs, list }: Finished): void {
  const { session, events, ledger } = turn;
  session.append(
    itemOf(call, result, durationMs),
    ...(list === undefined ? [] : [{ kind: "todo" as const, items: list }]),
    ...(result.skill === undefined ? [] : [skillNote(result.skill)]),
  );
  count(ledger, result);
  events.post(endOf(call, result, durationMs));
  const exposure = turn.watchKey(nameOfTool(call), resultText(result));
  if (exposure !== undefined) events.post(exposure);
  if (list !== undefined) events.post({ type: "todo", items: [...list] });
}

/** The model has to know what ran in the place of its own arguments. */
function withRewriting(result: ToolResult, { input }: Prepared): ToolResult {
  const shown = shortened(JSON.stringify(input), mostShown);
  const note = `[koda: the user's hook changed the arguments of this call to ${shown}]\n\n`;
  return { ...result, parts: [{ type: "text", text: note }, ...result.parts] };
}

const mostShown = 2_000;

/** Loads a skill: its instructions as the log keeps them. */
export function skillNote({ name, text, allowed }: SkillText): ItemOf<"note"> {
  return { kind: "note", text, skill: { name, ...(allowed !== undefined && { allowed }) } };
}

function withNote(result: ToolResult, repetition: Repetition): ToolResult {
  if (repetition !== "repeated") return result;
  const note = "[koda: this is the third time you made this same call with this same result; once more ends the run.]";
  return { ...result, parts: [...result.parts, { type: "text", text: `\n\n${note}` }] };
}

function itemOf(prepared: Prepared, result: ToolResult, durationMs: number) {
  const { call, claim } = prepared;
  const isRepeatable = "tool" in prepared && prepared.tool.again?.includes(claim.effect) === true;
  const { ok, parts, denied, exitCode, output, agent, background } = result;
  return {
    kind: "result" as const,
    call: call.id,
    tool: call.tool,
    ok,
    parts,
    durationMs,
    ...(denied !== undefined && { denied }),
    ...(exitCode !== undefined && { exitCode }),
    ...(output !== undefined && { output }),
    ...(agent !== undefined && { agent }),
    ...(background !== undefined && { background }),
    ...(isRepeatable && { again: true as const }),
  };
}

function endOf(call: Prepared, result: ToolResult, durationMs: number): EventOf<"tool.end"> {
  const { ok, denied, exitCode, signal, timedOut, hint, output } = result;
  return {
    type: "tool.end",
    id: call.call.id,
    tool: nameOfTool(call),
    ok,
    ...(denied !== undefined && { denied }),
    ...(exitCode !== undefined && { exit_code: exitCode }),
    ...(signal !== undefined && { signal }),
    ...(timedOut !== undefined && { timed_out: timedOut }),
    duration_ms: durationMs,
    ...(hint !== undefined && { hint }),
    summary: resultText(result),
    ...(output !== undefined && { output_id: output }),
  };
}

/** Counts the call as exactly one of ok, failed and denied. */
function count(ledger: Ledger, result: ToolResult): void {
  countCall(ledger, result.denied !== undefined ? "denied" : result.ok ? "ok" : "failed");
  if (result.confined !== undefined) countCommand(ledger, result.confined ? "begun" : "refused");
}

/** The text of a result without what differs every time: its output id, and the call's own address of the proxies. */
function lastingText(result: ToolResult): string {
  const text = resultText(result).replaceAll(loopbackAddress, "");
  return result.output === undefined ? text : text.replaceAll(result.output, "");
}

const loopbackAddress = /\b127(\.\d{1,3}){3}\b/g;
