import { textOfParts } from "../session/content.ts";
import type { Event } from "./event.ts";
import { hookNote } from "./hooknote.ts";
import { runHooks } from "./hooks.ts";
import type { Prompt, Turn } from "./turn.ts";

/** New input becomes a part of the history, unless a hook denies it. */
export async function* accept(turn: Turn, inputs: readonly Prompt[], signal: AbortSignal): AsyncGenerator<Event> {
  const { session } = turn;
  for (const parts of inputs) {
    const { denied, context } = yield* runHooks(turn, { on: "prompt", prompt: textOfParts(parts) }, signal);
    if (denied !== undefined) {
      yield {
        type: "notice",
        level: "warn",
        code: "hook",
        message: `New input was not added, denied by the ${denied.rule}`,
      };
      continue;
    }
    session.append({ kind: "user", parts }, ...(context === undefined ? [] : [hookNote("prompt", context)]));
    yield { type: "notice", level: "info", code: "input", message: "New input was added to the conversation" };
  }
}
