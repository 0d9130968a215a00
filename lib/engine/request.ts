import type { ModelRequest, Usage } from "../model/model.ts";
import type { Engine } from "./engine.ts";
import type { Event, Figures } from "./event.ts";
import { Gathering, type Reply } from "./gather.ts";
import { addUsage, noUsage } from "../model/usage.ts";
import { costOf, spend } from "./ledger.ts";

/** What of the answer there is so far: shown when the turn ends before its answer is complete. */
export type Draft = { text: string; usage: Figures };

/** Sends the history, streams the reply, commits it, and says what it cost. */
export async function* ask(
  engine: Engine,
  { draft, withoutTools }: { draft: Draft; withoutTools: boolean },
  signal: AbortSignal,
): AsyncGenerator<Event, Reply> {
  const request = requestOf(engine, withoutTools);
  const gathering = new Gathering(request.messages);
  engine.ledger.requests++;
  // In this generator and not in one of its own: each one on the way of every piece costs 15 ms in 20,000 of them.
  try {
    for await (const events of engine.model(request, signal)) {
      for (const event of events) {
        const told = gathering.add(event);
        if (told !== undefined) yield told;
      }
    }
  } catch (error) {
    keepCut(engine, gathering.text);
    throw error;
  } finally {
    if (gathering.text !== "") draft.text = gathering.text;
  }
  const { reply } = gathering;
  // A Model throws when it fails, so this is our defect, not the provider's.
  if (reply === undefined) throw new Error("The model's stream ended without its end event");

  // An empty reply is not worth a place in the history: providers refuse to see it again.
  if (reply.item.parts.length > 0) engine.session.append(reply.item);
  if (reply.text !== "") yield { type: "text.done", text: reply.text };

  spend(engine.ledger, reply.item.usage, estimateTokens(request, reply));
  draft.usage = addUsage(draft.usage, reply.item.usage);
  yield usageEvent(engine, reply.item.usage, draft.usage);
  return reply;
}

/** A reply that is cut off leaves in the log what it said until then. */
function keepCut({ session }: Engine, text: string): void {
  if (text !== "")
    session.append({ kind: "assistant", parts: [{ type: "text", text }], finish: "cut", usage: noUsage });
}

function requestOf(engine: Engine, withoutTools: boolean): ModelRequest {
  return {
    system: engine.system,
    messages: engine.session.history(),
    tools: engine.tools.map(({ name, about, input }) => ({ name, about, input })),
    heard: engine.heard,
    ...(withoutTools && { withoutTools }),
  };
}

function usageEvent({ ledger, session, info }: Engine, request: Usage, turn: Figures): Event {
  const used = request.input === null ? null : request.input + (request.output ?? 0);
  const cost = costOf(ledger, info.price);
  return {
    type: "usage",
    request,
    turn,
    session: session.usage,
    context: { used, window: info.contextWindow },
    ...(cost !== undefined && { cost_usd: cost }),
  };
}

/** About three and a half bytes a token; only where the provider reports nothing. */
function estimateTokens(request: ModelRequest, reply: Reply): number {
  if (reply.item.usage.input !== null) return 0;
  return Math.ceil(JSON.stringify([request.system, request.messages, request.tools, reply.item.parts]).length / 3.5);
}
