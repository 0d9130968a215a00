import type { ModelRequest, Usage } from "../model/model.ts";
import { addUsage, noUsage } from "../model/usage.ts";
import { estimateTokens } from "../session/contextsize.ts";
import type { Event, Figures } from "./event.ts";
import { Gathering, type Reply } from "./gather.ts";
import { costOf, priced, spend } from "./ledger.ts";
import type { Turn } from "./turn.ts";

/** Sends the history, streams the reply, commits it, and reports its usage. */
export async function* ask(
  turn: Turn,
  { withoutTools }: { withoutTools: boolean },
  signal: AbortSignal,
): AsyncGenerator<Event, Reply> {
  const { session, ledger, progress } = turn;
  const request = requestOf(turn, withoutTools);
  const gathering = new Gathering(request.messages);
  ledger.requests++;
  const stream = turn.model(request, signal)[Symbol.asyncIterator]();
  // In this generator and not in another: each one between model and sink costs 15 ms per 20,000 deltas.
  try {
    while (true) {
      const { done, value } = yield* turn.events.until(stream.next());
      if (done) break;
      for (const piece of value) {
        const event = gathering.add(piece);
        if (event !== undefined) yield event;
      }
    }
  } catch (error) {
    keepCut(turn, gathering.text);
    throw error;
  } finally {
    if (gathering.text !== "") progress.text = gathering.text;
    // Not awaited here: a stream that is waited for ends only when the turn is aborted.
    progress.work = Promise.allSettled([stream.return?.()]);
  }
  const { reply } = gathering;
  // A Model throws when it fails, so this is a bug in koda.
  if (reply === undefined) throw new Error("The model's stream ended without its end event");

  // Providers reject an empty reply in the history.
  if (reply.item.parts.length > 0) session.append(priced(reply.item, turn.info.price));
  if (reply.text !== "") yield { type: "text.done", text: reply.text };

  const { usage } = reply.item;
  spend(ledger, usage, usage.input === null ? estimateRequest(request, reply) : 0);
  progress.usage = addUsage(progress.usage, usage);
  yield usageEvent(turn, usage, progress.usage);
  return reply;
}

/** Keeps the text of a reply that was cut off. */
function keepCut({ session }: Turn, text: string): void {
  if (text !== "")
    session.append({ kind: "assistant", parts: [{ type: "text", text }], finish: "cut", usage: noUsage });
}

function requestOf({ system, session, tools, heard }: Turn, withoutTools: boolean): ModelRequest {
  return {
    system,
    messages: session.history(),
    tools: tools.map(({ name, about, input }) => ({ name, about, input })),
    heard,
    ...(withoutTools && { withoutTools }),
  };
}

function usageEvent({ ledger, session, info }: Turn, request: Usage, turn: Figures): Event {
  const used = request.input === null ? null : request.input + (request.output ?? 0);
  const cost = costOf(ledger, info.price);
  return {
    type: "usage",
    request,
    turn,
    session: session.info.usage,
    context: { used, window: info.contextWindow },
    ...(cost !== undefined && { cost_usd: cost }),
  };
}

/** The tokens of a request and its reply, for providers that report nothing. */
export function estimateRequest({ system, messages, tools }: ModelRequest, reply: Reply): number {
  return estimateTokens(JSON.stringify([system, messages, tools, reply.item.parts]).length);
}
