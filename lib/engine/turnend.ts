import { textOfParts } from "../session/content.ts";
import type { Item } from "../session/item.ts";
import { failureField } from "./end.ts";
import type { Event } from "./event.ts";
import { runEndHooks } from "./hooks.ts";
import { type Failure, type Outcome, outcomeOfError } from "./outcome.ts";
import type { Turn } from "./turn.ts";

type TurnOver = { opening: readonly Item[]; outcome: Outcome };

/** The files that these hooks write are changes of the turn. */
export async function* tellTurnEnd(
  turn: Turn,
  { opening, outcome }: TurnOver,
  parent: AbortSignal,
): AsyncGenerator<Event> {
  if (turn.hooks?.has("turn.end") !== true) return;
  const { parts = [] } = opening.find((item) => item.kind === "user") ?? {};
  const said = { input: textOfParts(parts), last_message: outcome.text };
  const ended =
    outcome.status === "done"
      ? { reason: "complete" }
      : { reason: reason[outcome.status], error: shownError(outcome.error) };
  yield* runEndHooks(turn, { on: "turn.end", ...said, ...ended }, parent);
}

function shownError({ code, message }: Failure): Pick<Failure, "code" | "message"> {
  return { code, message };
}

const reason = { failed: "error", limit: "limit", cancelled: "cancelled" } as const;

/** A turn whose end cannot be recorded has failed; its text is kept. */
export function recordEnd({ session, changes }: Turn, outcome: Outcome, signal: AbortSignal): Outcome {
  const files = changes.count;
  try {
    if (outcome.status === "done") session.endTurn("complete", { files });
    else session.endTurn(reason[outcome.status], { files, error: outcome.error });
    return outcome;
  } catch (error) {
    return outcomeOfError(error, signal, outcome.text);
  }
}

export function turnEnd(turn: number, outcome: Outcome): Event {
  if (outcome.status === "done") return { type: "turn.end", turn, reason: "complete" };
  return { type: "turn.end", turn, reason: reason[outcome.status], error: failureField(outcome.error) };
}
