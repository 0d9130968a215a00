import type { Message } from "../model/message.ts";
import type { ModelRequest, Usage } from "../model/model.ts";
import { addUsage, noUsage } from "../model/usage.ts";
import { estimateTokens, imageTokens } from "../session/contextsize.ts";
import type { Event, Figures } from "./event.ts";
import { Gathering, type Reply } from "./gather.ts";
import {
  affordableOutput,
  costOf,
  countRequest,
  foresee,
  type Ledger,
  noteRateLimits,
  priced,
  reserve,
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
  while (true) {
    countRequest(ledger);
    const request = requestOf(turn, turn.session.history(), withoutTools);
    const gathering = new Gathering(request.messages);
    const before = ledger.rateLimits;
    const stream = turn.model(request, signal)[Symbol.asyncIterator]();
    const reserved = reserve(ledger, request, turn.info.price);
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
      reserved[Symbol.dispose]();
      if (gathering.text !== "") progress.text = gathering.text;
      // Not awaited here: a stream that is waited for ends only when the turn is aborted.
      progress.work = Promise.allSettled([stream.return?.()]);
    }
    return yield* commit(turn, request, gathering.reply);
  }
}

/** The first request of a continued session, or of an agent, may already be too expensive. */
export function foreseeRequest(turn: Turn): void {
  const { ledger, session, info } = turn;
  if ((ledger.parent ?? ledger).limits.maxCostUsd !== undefined)
    foresee(ledger, inputOf(requestOf(turn, session.history(), false)), info.price);
}

function* commit(turn: Turn, request: ModelRequest, reply: Reply | undefined): Generator<Event, Reply> {
  const { session } = turn;
  // A Model throws when it fails, so this is a bug in koda.
  if (reply === undefined) throw new Error("The model's stream ended without its end event");

  // Providers reject an empty reply in the history.
  if (reply.item.parts.length > 0) session.append(priced(reply.item, turn.info.price));
  // Before anything is yielded: what it was allowed to cost is set aside no more.
  spendReply(turn, request, reply);
  if (reply.text !== "") yield { type: "text.done", text: reply.text };

  yield reportUsage(turn, reply.item.usage);
  return reply;
}

/** Adds the usage of a reply to that of the turn. */
export function reportUsage(turn: Turn, usage: Usage): Event {
  turn.progress.usage = addUsage(turn.progress.usage, usage);
  return usageEvent(turn, usage);
}

/** Counts a reply in the ledger. */
export function spendReply({ ledger, info }: Turn, request: ModelRequest, { item }: Reply): void {
  const estimate = () => ({ input: inputOf(request), output: tokensIn(item.parts) });
  spend(ledger, { usage: item.usage, estimate, price: info.price });
}

type Attempt = { request: ModelRequest; gathering: Gathering; before: Ledger["rateLimits"] };

/** After an attempt that failed: what its reply cost counts, and the limits that it reported are passed on. */
export function* lose(turn: Turn, { request, gathering, before }: Attempt): Generator<Event, void> {
  const { ledger, info } = turn;
  const { received } = gathering;
  if (received > 0) spendLost(ledger, { input: inputOf(request), output: estimateTokens(received) }, info.price);
  if (ledger.rateLimits !== before) yield usageEvent(turn, noUsage);
}

/** Keeps the text of a reply that was cut off. */
function keepCut({ session }: Turn, text: string): void {
  if (text !== "")
    session.append({ kind: "assistant", parts: [{ type: "text", text }], finish: "cut", usage: noUsage });
}

/** A request with these messages, within what the cost limit leaves. */
export function requestOf(turn: Turn, messages: readonly Message[], withoutTools: boolean): ModelRequest {
  const { system, catalog, heard, waits, ledger, info, session } = turn;
  const affordable = affordableOutput(ledger, info.price);
  return {
    system,
    messages,
    tools: catalog.current.definitions,
    heard,
    waits,
    limits: (told) => noteRateLimits(ledger, told),
    cacheKey: session.info.root,
    room: () => info.contextWindow - contextTokens(turn),
    ...(withoutTools && { withoutTools }),
    ...(affordable !== undefined && { affordableOutput: affordable }),
  };
}

/** The size of the conversation with all that is sent beside it. */
export function contextTokens(turn: Turn): number {
  return turn.session.contextTokens(() => overheadOf(turn));
}

/** The part of each request beside the messages. */
export function overheadOf({ system, catalog }: Turn): number {
  return tokensIn([system, catalog.current.definitions.map(({ name, about, input }) => [name, about, input])]);
}

/** The size of the conversation after a compaction, as an estimate. */
export function reportContext(turn: Turn, used: number): Event {
  return usageEvent(turn, noUsage, used);
}

/** The usage of a complete reply, or of no reply when only something else in it has changed. */
function usageEvent({ ledger, session, info, progress }: Turn, request: Usage, estimate: number | null = null): Event {
  const used = request.input === null ? estimate : request.input + (request.output ?? 0);
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

/** About the tokens of a value that is sent as JSON. */
export function tokensIn(value: unknown): number {
  let images = 0;
  const text = JSON.stringify(value, (key, part: unknown) => {
    if (key !== "base64") return part;
    images++;
    return "";
  });
  return estimateTokens(Buffer.byteLength(text)) + images * imageTokens;
}
