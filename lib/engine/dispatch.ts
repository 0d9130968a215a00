import { Channel } from "../async/channel.ts";
import { KodaError, messageOf } from "../errors.ts";
import type { CallPart } from "../model/message.ts";
import { failed, type ToolResult } from "../tools/tool.ts";
import { denialText } from "../trust/gate.ts";
import { type Engine, news, type Notice } from "./engine.ts";
import type { Event, EventOf } from "./event.ts";
import type { LoopGuard } from "./loop.ts";
import { prepare, type Prepared } from "./prepare.ts";
import { waves } from "./schedule.ts";

/**
 * Does what a reply asked for. Every result is committed before its `tool.end` is announced; the history puts results
 * into the order of their calls, so calls that run together may finish in any order.
 */
export async function* dispatch(
  engine: Engine,
  { calls, loop }: { calls: readonly CallPart[]; loop: LoopGuard },
  signal: AbortSignal,
): AsyncGenerator<Event, void> {
  const prepared = await Promise.all(calls.map((call) => prepare(call, engine.tools, engine.context)));
  for (const wave of waves(prepared)) {
    signal.throwIfAborted();
    if (wave.some(({ claim }) => claim.effect !== "read")) await engine.changes.watch(signal);
    yield* withoutTraps(engine, { wave, signal }, (call, emit) => perform(engine, { call, loop, emit }, signal));
  }
}

type Wave = { wave: readonly Prepared[]; signal: AbortSignal };

/** What a call may leave for git or koda to obey is looked for after it, and told; to the model as well. */
async function* withoutTraps(
  engine: Engine,
  { wave, signal }: Wave,
  perform: (call: Prepared, emit: Emit) => Promise<void>,
): AsyncGenerator<Event, void> {
  const { repositories, session } = engine;
  const mayWrite = wave.some(({ claim, call }) => claim.effect !== "read" || call.tool === "Bash");
  const [only, ...others] = wave;
  engine.reached.call = others.length === 0 ? only?.call.id : undefined;
  if (!mayWrite) return yield* runTogether(wave, perform);

  await repositories.before(signal);
  let notices: readonly Notice[] = [];
  try {
    yield* runTogether(wave, perform);
  } finally {
    notices = await repositories.after();
    engine.notices.push(...notices);
  }
  yield* news(engine);
  const told = notices.filter(({ level }) => level !== "info");
  if (told.length > 0) session.append({ kind: "note", text: told.map(({ message }) => message).join("\n") });
}

type Emit = (event: Event) => void;

/** Every call of a wave is over, well or badly, before this is. */
async function* runTogether(
  wave: readonly Prepared[],
  perform: (call: Prepared, emit: Emit) => Promise<void>,
): AsyncGenerator<Event, void> {
  const events = new Channel<Event>();
  const running = Promise.allSettled(wave.map((call) => perform(call, (event) => events.push(event))));
  void running.then(() => events.close());
  yield* events;

  const broken = (await running).find((settled) => settled.status === "rejected");
  if (broken !== undefined) throw broken.reason;
}

type Performance = { call: Prepared; loop: LoopGuard; emit: Emit };

async function perform(engine: Engine, { call, loop, emit }: Performance, signal: AbortSignal): Promise<void> {
  const { id, tool } = call.call;
  const { todo } = engine.context;
  const listBefore = todo.items;
  emit({ type: "tool.start", id, tool, input: call.input, effect: call.claim.effect });

  const started = performance.now();
  const duration = () => Math.round((performance.now() - started) * 10) / 10;
  let result: ToolResult;
  try {
    result = await resultOf(engine, { call, loop, emit }, signal);
  } catch (error) {
    // However it ended, a call that was begun has a result, and is counted.
    const cut = failed(`[interrupted: ${messageOf(error)}]`);
    const cutAfterMs = duration();
    engine.session.append(itemOf(call, cut, cutAfterMs));
    count(engine, cut);
    emit(endOf(call, cut, cutAfterMs));
    throw error;
  }
  const durationMs = duration();

  const repetition = loop.observe(tool, call.input, lastingText(result));
  const told = repetition === "repeated" ? withRepetitionNote(result) : result;
  const relisted = todo.items === listBefore ? [] : [{ kind: "todo" as const, items: todo.items }];
  engine.session.append(itemOf(call, told, durationMs), ...relisted);
  count(engine, told);
  emit(endOf(call, told, durationMs));
  const exposure = engine.keyWatch(tool, textOf(told));
  if (exposure !== undefined) emit(exposure);

  for (const { items } of relisted) emit({ type: "todo", items: [...items] });
  if (repetition === "stuck")
    throw new KodaError("loop", `The model keeps calling ${tool} with the same arguments and the same result`);
}

async function resultOf(engine: Engine, { call, emit }: Performance, signal: AbortSignal): Promise<ToolResult> {
  if ("mistake" in call) return failed(call.mistake);

  const { tool, claim, input } = call;
  const verdict = await engine.gate({ tool: tool.name, claim });
  if (!verdict.allow) return { ...failed(denialText(verdict.rule)), denied: verdict.rule };

  const { id } = call.call;
  const result = await tool.run(input as never, {
    ...engine.context,
    call: id,
    signal,
    report(stream, text) {
      engine.heard();
      emit({ type: "tool.output", id, stream, text });
    },
  });
  signal.throwIfAborted();
  return result;
}

function withRepetitionNote(result: ToolResult): ToolResult {
  const note = "[koda: this is the third time you made this same call with this same result; once more ends the run.]";
  return { ...result, parts: [...result.parts, { type: "text", text: `\n\n${note}` }] };
}

function itemOf({ call }: Prepared, result: ToolResult, durationMs: number) {
  const { ok, parts, denied, exitCode, output } = result;
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
  };
}

function endOf({ call }: Prepared, result: ToolResult, durationMs: number): EventOf<"tool.end"> {
  const { ok, denied, exitCode, signal, timedOut, hint, output } = result;
  return {
    type: "tool.end",
    id: call.id,
    tool: call.tool,
    ok,
    ...(denied !== undefined && { denied }),
    ...(exitCode !== undefined && { exit_code: exitCode }),
    ...(signal !== undefined && { signal }),
    ...(timedOut !== undefined && { timed_out: timedOut }),
    duration_ms: durationMs,
    ...(hint !== undefined && { hint }),
    summary: textOf(result),
    ...(output !== undefined && { output_id: output }),
  };
}

/** Each call is in exactly one of the three. */
function count({ ledger }: Engine, result: ToolResult): void {
  if (result.denied !== undefined) ledger.calls.denied++;
  else if (result.ok) ledger.calls.ok++;
  else ledger.calls.failed++;
  if (result.confined !== undefined) ledger.commands[result.confined ? "begun" : "refused"]++;
}

/** What the result says, but for the id under which this one is stored: that is new each time. */
function lastingText(result: ToolResult): string {
  return result.output === undefined ? textOf(result) : textOf(result).replaceAll(result.output, "");
}

function textOf({ parts }: ToolResult): string {
  return parts.map((part) => (part.type === "text" ? part.text : `[${part.mime} image]`)).join("");
}
