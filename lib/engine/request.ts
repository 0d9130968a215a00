import { type CallPart, type Message, textOf, type ThinkingPart } from "../model/message.ts";
import type { FinishReason, ModelEvent, ModelRequest, Price, Usage } from "../model/model.ts";
import type { Item } from "../session/item.ts";
import type { Engine } from "./engine.ts";
import type { Event, Figures } from "./event.ts";
import { addFigures, noFigures, spend } from "./ledger.ts";

export type Reply = {
  text: string;
  calls: readonly CallPart[];
  finish: FinishReason;
  item: Extract<Item, { kind: "assistant" }>;
};

/** What of the answer there is so far: shown when the turn ends before its answer is complete. */
export type Draft = { text: string; usage: Figures };

/** Sends the history, streams the reply, commits it, and says what it cost. */
export async function* ask(
  engine: Engine,
  { draft, withoutTools }: { draft: Draft; withoutTools: boolean },
  signal: AbortSignal,
): AsyncGenerator<Event, Reply> {
  const request = requestOf(engine, withoutTools);
  engine.ledger.requests++;
  const reply = yield* collect(engine, { draft, request }, signal);

  // An empty reply is not worth a place in the history: providers refuse to see it again.
  if (reply.item.parts.length > 0) engine.session.append(reply.item);
  if (reply.text !== "") yield { type: "text.done", text: reply.text };

  spend(engine.ledger, reply.item.usage, estimateTokens(request, reply));
  draft.usage = addFigures(draft.usage, reply.item.usage);
  yield usageEvent(engine, reply.item.usage, draft.usage);
  return reply;
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

/** The reply as it comes; one that is cut off leaves in the log what it said until then. */
async function* collect(
  engine: Engine,
  { draft, request }: { draft: Draft; request: ModelRequest },
  signal: AbortSignal,
): AsyncGenerator<Event, Reply> {
  let parts: Part[] = [];
  let text = "";
  const before = draft.text;
  const taken = takenIds(request.messages);
  try {
    for await (const event of engine.model(request, signal)) {
      switch (event.type) {
        case "text":
          if (event.text === "") break;
          text += event.text;
          draft.text = text;
          addText(parts, event.text);
          yield { type: "text.delta", text: event.text };
          break;
        case "thinking":
          yield { type: "thinking.delta", text: event.text };
          break;
        case "thought":
          parts.push(event.part);
          break;
        case "call":
          parts.push(withFreshId(event.call, taken));
          break;
        case "retry":
          // Nothing of a broken attempt is executed, kept, or counted as answer.
          parts = [];
          text = "";
          draft.text = before;
          yield retryEvent(event);
          break;
        case "end":
          return replyOf(parts, event.reason, event.usage);
        default:
          event satisfies never;
      }
    }
  } catch (error) {
    if (text !== "")
      engine.session.append({ kind: "assistant", parts: [{ type: "text", text }], finish: "cut", usage: noFigures });
    throw error;
  }
  // A Model throws when it fails, so this is our defect, not the provider's.
  throw new Error("The model's stream ended without its end event");
}

type Part = { type: "text"; text: string } | ThinkingPart | CallPart;

function addText(parts: Part[], text: string): void {
  const last = parts.at(-1);
  if (last?.type === "text") last.text += text;
  else parts.push({ type: "text", text });
}

/**
 * Results are paired to calls by id, in the log and by the provider, so an id that is missing, too long for some
 * providers, or used before is replaced.
 */
function withFreshId(call: CallPart, taken: Set<string>): CallPart {
  let { id } = call;
  for (let n = taken.size + 1; id === "" || id.length > 64 || taken.has(id); n++) id = `call_${n}`;
  taken.add(id);
  return { ...call, id };
}

function takenIds(messages: readonly Message[]): Set<string> {
  return new Set(messages.flatMap((message) => (message.role === "tool" ? [message.call] : [])));
}

function replyOf(parts: readonly Part[], finish: FinishReason, usage: Usage): Reply {
  const calls = parts.filter((part) => part.type === "call");
  const text = textOf({ role: "assistant", parts });
  return { text, calls, finish, item: { kind: "assistant", parts, finish, usage } };
}

function retryEvent({ attempt, max, delayMs, code, message }: Extract<ModelEvent, { type: "retry" }>): Event {
  return { type: "retry", attempt, max, delay_ms: delayMs, code, message };
}

function usageEvent({ ledger, session, info }: Engine, request: Usage, turn: Figures): Event {
  const used = request.input === null ? null : request.input + (request.output ?? 0);
  const cost = info.price && costOf(ledger.usage, info.price);
  return {
    type: "usage",
    request,
    turn,
    session: session.usage,
    context: { used, window: info.contextWindow },
    ...(cost !== undefined && { cost_usd: cost }),
  };
}

function costOf({ input, cached, output }: Figures, price: Price): number {
  const cachedTokens = cached ?? 0;
  const fresh = (input ?? 0) - cachedTokens;
  return (fresh * price.input + cachedTokens * (price.cached ?? price.input) + (output ?? 0) * price.output) / 1e6;
}

/** About three and a half bytes a token; only where the provider reports nothing. */
function estimateTokens(request: ModelRequest, reply: Reply): number {
  if (reply.item.usage.input !== null) return 0;
  return Math.ceil(JSON.stringify([request.system, request.messages, request.tools, reply.item.parts]).length / 3.5);
}
