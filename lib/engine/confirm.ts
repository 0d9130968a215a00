import { unlessAborted } from "../async/unlessaborted.ts";
import { accept } from "./accept.ts";
import type { Event } from "./event.ts";
import { hookNote } from "./hooknote.ts";
import { runHooks } from "./hooks.ts";
import type { AnswerJudgement } from "./judgement.ts";
import type { Turn } from "./turn.ts";
import { verify } from "./verify.ts";

/** The end of a turn is not final when input came after its request, or when it does not pass the user's check. */
export async function* confirm(
  turn: Turn,
  end: Exclude<AnswerJudgement, { kind: "again" }>,
  signal: AbortSignal,
): AsyncGenerator<Event, AnswerJudgement | undefined> {
  const { inbox, judge, events } = turn;
  yield* events.until(unlessAborted(inbox.settled(), signal));
  const late = inbox.take();
  yield* accept(turn, late, signal);
  if (late.length === 0) {
    const judgement = end.kind === "answer" ? yield* approve(turn, end, signal) : end;
    if (judgement.kind !== "answer" || inbox.isEmpty) return judgement;
  }
  judge.takeBack();
  // Another answer is verified from the start.
  if (turn.verification !== undefined) Object.assign(turn.verification, { attempts: 0, passed: false });
  return undefined;
}

type Answer = Extract<AnswerJudgement, { kind: "answer" }>;

/** The user's hooks may send the model on once. Then the user's check has the last word, on what hooks wrote too. */
async function* approve(turn: Turn, answer: Answer, signal: AbortSignal): AsyncGenerator<Event, AnswerJudgement> {
  const { progress, session, judge } = turn;
  if (!progress.hasRunStopHooks) {
    progress.hasRunStopHooks = true;
    progress.text = answer.text;
    const { denied, context } = yield* runHooks(turn, { on: "stop", last_message: answer.text }, signal);
    if (context !== undefined) session.append(hookNote("stop", context));
    if (denied !== undefined) {
      judge.takeBack();
      return { kind: "again", note: `${hookNote("stop", denied.reason).text}\n\n${endAgain}` };
    }
  }
  return yield* verify(turn, answer, signal);
}

const endAgain = "Go on with the task, then end it again with your whole final answer: it replaces the last one.";
