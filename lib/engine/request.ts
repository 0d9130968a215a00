import { KodaError } from "../errors.ts";
import type { ModelInfo, ModelRequest, Usage } from "../model/model.ts";
import { addUsage, noUsage } from "../model/usage.ts";
import type { Event, Figures } from "./event.ts";
import { Gathering, type Reply } from "./gather.ts";
import {
  affordableOutput,
  costOf,
  foresee,
  type Ledger,
  limitReached,
  noteRateLimits,
  spend,
  spendLost,
} from "./ledger.ts";
import { removeRefusedImages } from "./refusedimages.ts";
import type { Turn } from "./turn.ts";

/** Sends the history, streams the reply, commits it, and reports its usage. */
export async function* ask(
  turn: Turn,
  { withoutTools }: { withoutTools: boolean },
  signal: AbortSignal,
): AsyncGenerator<Event, Reply> {
  const { ledger, progress } = turn;
  if (ledger.requests === 0) assertAffordable(turn);
  ledger.requests++;
  while (true) {
    const request = requestOf(turn, withoutTools);
    const gathering = new Gathering(request.messages);
    const before = ledger.rateLimits;
    const stream = turn.model(request, signal)[Symbol.asyncIterator]();
    // In this generator and not in another: each one between model and sink costs 15 ms per 20,000 deltas.
    try {
      while (true) {
        const { done, value } = yield* turn.events.until(stream.next());
        if (done) break;
        for (const piece of value) {
          if (piece.type === "retry") yield* lose(turn, { request, gathering, before });
          const event = gathering.add(piece);
          if (event !== undefined) yield event;
        }
      }
    } catch (error) {
      keepCut(turn, gathering.text);
      yield* lose(turn, { request, gathering, before });
      removeRefusedImages(turn, error);
      continue;
    } finally {
      if (gathering.text !== "") progress.text = gathering.text;
      // Not awaited here: a stream that is waited for ends only when the turn is aborted.
      progress.work = Promise.allSettled([stream.return?.()]);
    }
    return yield* commit(turn, request, gathering.reply);
  }
}

/** Of a continued session already the first request may be too expensive. */
function assertAffordable(turn: Turn): void {
  const { ledger, info } = turn;
  if (ledger.limits.maxCostUsd === undefined) return;
  foresee(ledger, inputOf(requestOf(turn, false)), info.price);
  const failure = limitReached(ledger);
  if (failure !== undefined) throw new KodaError(failure.code, failure.message, { retryable: true });
}

function* commit(turn: Turn, request: ModelRequest, reply: Reply | undefined): Generator<Event, Reply> {
  const { session, ledger, progress, info } = turn;
  // A Model throws when it fails, so this is a bug in koda.
  if (reply === undefined) throw new Error("The model's stream ended without its end event");

  // Providers reject an empty reply in the history.
  if (reply.item.parts.length > 0) session.append(reply.item);
  if (reply.text !== "") yield { type: "text.done", text: reply.text };

  const { usage, parts } = reply.item;
  const estimate = () => ({ input: inputOf(request), output: tokensIn(parts) });
  spend(ledger, { usage, estimate, price: info.price });
  progress.usage = addUsage(progress.usage, usage);
  yield usageEvent(turn, usage);
  return reply;
}

type Attempt = { request: ModelRequest; gathering: Gathering; before: Ledger["rateLimits"] };

/** After an attempt that failed: what its reply cost counts, and the limits that it told are reported. */
function* lose(turn: Turn, { request, gathering, before }: Attempt): Generator<Event, void> {
  const { ledger, info } = turn;
  const { received } = gathering;
  if (received > 0) spendLost(ledger, { input: inputOf(request), output: tokensOf(received) }, info.price);
  if (ledger.rateLimits !== before) yield usageEvent(turn, noUsage);
}

/** Keeps the text of a reply that was cut off. */
function keepCut({ session }: Turn, text: string): void {
  if (text !== "")
    session.append({ kind: "assistant", parts: [{ type: "text", text }], finish: "cut", usage: noUsage });
}

function requestOf({ system, session, tools, heard, waits, ledger, info }: Turn, withoutTools: boolean): ModelRequest {
  const affordable = affordableOutput(ledger, info.price);
  return {
    system,
    messages: session.history(),
    tools: tools.map(({ name, about, input }) => ({ name, about, input })),
    heard,
    waits,
    limits: (told) => noteRateLimits(ledger, told),
    ...(withoutTools && { withoutTools }),
    ...(affordable !== undefined && affordable < longestReply(info) && { affordableOutput: affordable }),
  };
}

/** A model whose longest reply is not known is sent no limit that it might refuse. */
function longestReply({ maxOutput = 4096 }: ModelInfo): number {
  return maxOutput;
}

/** The usage of a complete reply, or of no reply when only the provider's limits are news. */
function usageEvent({ ledger, session, info, progress }: Turn, request: Usage): Event {
  const used = request.input === null ? null : request.input + (request.output ?? 0);
  const cost = costOf(ledger, info.price);
  const turn: Figures = progress.usage;
  return {
    type: "usage",
    request,
    turn,
    session: session.info.usage,
    context: { used, window: info.contextWindow },
    ...(cost !== undefined && { cost_usd: cost }),
    ...(ledger.rateLimits && { limits: ledger.rateLimits }),
  };
}

function inputOf({ system, messages, tools }: ModelRequest): number {
  return tokensIn([system, messages, tools]);
}

/** An image counts as 1,500 tokens. */
function tokensIn(value: unknown): number {
  let images = 0;
  const text = JSON.stringify(value, (key, part: unknown) => {
    if (key !== "base64") return part;
    images++;
    return "";
  });
  return tokensOf(Buffer.byteLength(text)) + images * 1500;
}

/** About three and a half bytes a token. */
function tokensOf(bytes: number): number {
  return Math.ceil(bytes / 3.5);
}
