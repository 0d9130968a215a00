import { textOfParts } from "../session/content.ts";
import type { Event } from "./event.ts";
import { hookNote } from "./hooknote.ts";
import { runHooks } from "./hooks.ts";
import type { Item } from "../session/item.ts";
import type { Input, Prompt, Turn } from "./turn.ts";

/** A prompt as an item; `submission` is the one that it came with. */
export function userItem(parts: Prompt, submission: string | undefined): Item {
  return { kind: "user", parts, ...(submission !== undefined && { submission }) };
}

/** New input becomes a part of the history, unless a hook denies it. Results of agents come first: no hook is asked. */
export async function* accept(turn: Turn, inputs: readonly Input[], signal: AbortSignal): AsyncGenerator<Event> {
  const { session } = turn;
  session.append(...inputs.flatMap((input) => (input.kind === "result" ? [input.item] : [])));
  for (const input of inputs) {
    if (input.kind !== "prompt") continue;
    const { parts, submission } = input;
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
    session.append(userItem(parts, submission), ...(context === undefined ? [] : [hookNote("prompt", context)]));
    yield { type: "notice", level: "info", code: "input", message: "New input was added to the conversation" };
  }
}
