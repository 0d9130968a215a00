import { KodaError } from "../errors.ts";
import type { ImagePart, TextPart } from "../model/message.ts";
import type { Item } from "../session/item.ts";
import { AnswerJudge, schemaRequest } from "./answer.ts";
import { dispatch } from "./dispatch.ts";
import { failureField } from "./end.ts";
import { type Engine, news } from "./engine.ts";
import type { Event } from "./event.ts";
import { noUsage } from "../model/usage.ts";
import { isLastRequest, limitReached } from "./ledger.ts";
import { LoopGuard } from "./loop.ts";
import { type Outcome, outcomeOfError, outcomeOfFailure } from "./outcome.ts";
import { ask, type Draft } from "./request.ts";

/** The user's request; an empty one goes on with the task of a turn that was cut off. */
export type Prompt = readonly (TextPart | ImagePart)[];

/** One turn: from a prompt to its outcome. Whatever it started has stopped when it is over, even if its reader left. */
export async function* turn(prompt: Prompt, engine: Engine, parent: AbortSignal): AsyncGenerator<Event, Outcome> {
  const life = new AbortController();
  const signal = AbortSignal.any([parent, life.signal]);
  const draft: Draft = { text: "", usage: noUsage };
  const number = engine.session.beginTurn(...opening(prompt, engine));
  yield { type: "turn.start", turn: number };

  let outcome: Outcome;
  try {
    outcome = yield* work(engine, draft, signal);
  } catch (error) {
    outcome = outcomeOfError(error, parent, draft.text);
    if (outcome.status === "failed" && outcome.error.code === "internal") yield defect(error);
  } finally {
    life.abort(new KodaError("reader_gone", "the reader of this turn's events is gone"));
  }

  yield* news(engine);
  yield* await engine.changes.collect();
  const recorded = recordEnd(engine, outcome, parent);
  yield turnEnd(number, recorded);
  return recorded;
}

function opening(prompt: Prompt, { environment, answerSchema }: Engine): Item[] {
  const items: (Item | undefined)[] = [
    environment,
    prompt.length === 0 ? { kind: "note", text: goOn } : { kind: "user", parts: prompt },
    answerSchema && { kind: "note", text: schemaRequest(answerSchema) },
  ];
  return items.filter((item) => item !== undefined);
}

const goOn = "The last turn did not finish. Continue the task. If it is finished or cannot be finished, say so.";

/** Ask the model; stop if it asked for nothing; do what it asked; repeat. */
async function* work(engine: Engine, draft: Draft, signal: AbortSignal): AsyncGenerator<Event, Outcome> {
  const { session, ledger, answerSchema } = engine;
  const judge = new AnswerJudge(answerSchema);
  const loop = new LoopGuard();

  let working = false;
  while (true) {
    const spent = limitReached(ledger);
    if (spent !== undefined) return outcomeOfFailure(spent, draft.text);

    // The last request of a task that is not done yet is for the best answer that there is.
    const last = working && isLastRequest(ledger);
    if (last) session.append({ kind: "note", text: lastRequest });
    const reply = yield* ask(engine, { draft, withoutTools: last }, signal);
    yield* news(engine);

    // What it asks for all the same is not done; the limit ends the turn.
    if (last) continue;
    working = true;
    if (reply.calls.length > 0) {
      if (limitReached(ledger) === undefined) yield* dispatch(engine, { calls: reply.calls, loop }, signal);
      continue;
    }

    const judgement = await judge.judge(reply);
    switch (judgement.kind) {
      case "answer":
        return answered(judgement);
      case "again":
        session.append({ kind: "note", text: judgement.note });
        break;
      case "failed":
        return outcomeOfFailure(judgement.error, draft.text);
      default:
        judgement satisfies never;
    }
  }
}

const lastRequest =
  "This is your last reply: no more tools can be used. Say what was done, what was found, and what is left to do.";

function answered({ text, output }: { text: string; output?: unknown }): Outcome {
  return output === undefined ? { status: "done", text } : { status: "done", text, output };
}

/** A bug of ours: where it happened is for whoever reports it. */
function defect(error: unknown): Event {
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { type: "notice", level: "error", code: "internal", message };
}

const reason = { failed: "error", limit: "limit", cancelled: "cancelled" } as const;

/** Puts the end into the log. What cannot be recorded has failed, whatever had come of it; its text is not lost. */
function recordEnd({ session }: Engine, outcome: Outcome, signal: AbortSignal): Outcome {
  try {
    if (outcome.status === "done") session.endTurn("complete");
    else session.endTurn(reason[outcome.status], { code: outcome.error.code, message: outcome.error.message });
    return outcome;
  } catch (error) {
    return outcomeOfError(error, signal, outcome.text);
  }
}

function turnEnd(turn: number, outcome: Outcome): Event {
  if (outcome.status === "done") return { type: "turn.end", turn, reason: "complete" };
  return { type: "turn.end", turn, reason: reason[outcome.status], error: failureField(outcome.error) };
}
