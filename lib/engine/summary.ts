import { KodaError } from "../errors.ts";
import { type Message, textOf } from "../model/message.ts";
import type { Usage } from "../model/model.ts";
import { estimateTokens } from "../session/contextsize.ts";
import { cutBefore } from "../session/graphemes.ts";
import type { Event } from "./event.ts";
import { Gathering, type Reply } from "./gather.ts";
import { countRequest } from "./ledger.ts";
import { lose, reportUsage, requestOf, spendReply, tokensIn } from "./request.ts";
import request from "./summary.md" with { type: "text" };
import type { Turn } from "./turn.ts";

/** Shares of the window: the longest summary, and what is asked for. */
const longestShare = 0.2;
const wantedShare = 0.1;
const wordsPerToken = 0.7;

/** A request for a summary that is too long itself is shortened to these shares of the window, one after the other. */
const shares = [0.75, 0.5, 0.3] as const;

export type Summary = { text: string; usage: Usage };

/** In tokens: a reply that was cut off earlier is no summary. */
export const shortestSummary = 300;

type Room = {
  /** In tokens, like what the conversation takes of it with and without its messages. */
  window: number;
  used: number;
  overhead: number;
  /** False when the next request has to be left to the task. */
  mayAsk: () => boolean;
};

/** Asks the model for a summary of the conversation. Throws when there is none, with the reason. */
export async function* requestSummary(turn: Turn, room: Room, signal: AbortSignal): AsyncGenerator<Event, Summary> {
  const { window, used, overhead, mayAsk } = room;
  const history = turn.session.history();
  const words = String(Math.round(window * wantedShare * wordsPerToken));
  const wanted: Message = { role: "user", parts: [{ type: "text", text: request.replace("WORDS", words) }] };
  // As it is at first: the provider has it in its cache.
  const isShort = used < window * (1 - wantedShare);
  const short = shares.map((share) => shortened(history, Math.max(0, window * share - overhead)));
  const attempts = [...(isShort ? [history] : []), ...short];
  for (const [index, messages] of attempts.entries()) {
    try {
      return yield* attempt(turn, { messages: [...messages, wanted], window }, signal);
    } catch (error) {
      const isTooLong = error instanceof KodaError && error.code === "context";
      if (!isTooLong || index === attempts.length - 1 || !mayAsk()) throw error;
    }
  }
  throw new Error("a request for a summary was neither answered nor refused");
}

type Attempt = { messages: readonly Message[]; window: number };

async function* attempt(
  turn: Turn,
  { messages, window }: Attempt,
  signal: AbortSignal,
): AsyncGenerator<Event, Summary> {
  const whole = requestOf(turn, messages, true);
  const gathering = new Gathering(messages);
  const before = turn.ledger.rateLimits;
  countRequest(turn.ledger);
  const stream = turn.model(whole, signal)[Symbol.asyncIterator]();
  try {
    while (true) {
      const { done, value } = yield* turn.events.until(stream.next());
      if (done) break;
      for (const piece of value) {
        if (piece.type === "retry") yield* lose(turn, { request: whole, gathering, before });
        const event = gathering.add(piece);
        if (event?.type === "retry") yield event;
      }
    }
  } catch (error) {
    yield* lose(turn, { request: whole, gathering, before });
    throw error;
  } finally {
    turn.progress.work = Promise.allSettled([stream.return?.()]);
  }
  const { reply } = gathering;
  if (reply === undefined) throw new Error("The model's stream ended without its end event");
  const { usage } = reply.item;
  spendReply(turn, whole, reply);
  yield reportUsage(turn, usage);
  return { text: atMost(summaryIn(reply), window * longestShare), usage };
}

function summaryIn({ text, finish }: Reply): string {
  const said = text.trim();
  if (said === "") throw new KodaError("empty", "the model sent no text");
  if (finish === "filter") throw new KodaError("content_policy", "the provider's content filter stopped it");
  if (finish !== "length") return said;
  if (estimateTokens(Buffer.byteLength(said)) < shortestSummary)
    throw new KodaError("max_output", "it was cut off at the output limit");
  return `${said}\n[cut off at the output limit]`;
}

function atMost(text: string, tokens: number): string {
  const bytes = Buffer.byteLength(text);
  const most = tokens * 3.5;
  if (bytes <= most) return text;
  return `${text.slice(0, cutBefore(text, Math.floor((text.length * most) / bytes)))}\n[cut: the summary was too long]`;
}

/** Lengths to which results are cut, one after the other. */
const resultLengths = [4_000, 1_000, 300] as const;

/** The messages in about this many tokens: with shorter results, and then without the oldest replies and prompts. */
function shortened(messages: readonly Message[], tokens: number): readonly Message[] {
  let short = messages;
  for (const length of resultLengths) {
    if (tokensIn(short) <= tokens) return short;
    short = messages.map((message) => withShortText(message, length));
  }
  const [environment, ...others] = groupsOf(short);
  if (environment === undefined) return short;
  const sizes = others.map(tokensIn);
  let left = tokensIn(environment) + sizes.reduce((sum, size) => sum + size, 0);
  const first = sizes.findIndex((size) => {
    if (left <= tokens) return true;
    left -= size;
    return false;
  });
  return [environment, ...others.slice(first === -1 ? -1 : first)].flat();
}

function withShortText(message: Message, length: number): Message {
  const text = textOf(message);
  if (message.role !== "tool" || text.length <= length) return message;
  return { ...message, parts: [{ type: "text", text: `${text.slice(0, cutBefore(text, length))}\n[cut]` }] };
}

/** A reply stays with its results. */
function groupsOf(messages: readonly Message[]): Message[][] {
  const groups: Message[][] = [];
  for (const message of messages) {
    if (message.role === "tool") groups.at(-1)?.push(message);
    else groups.push([message]);
  }
  return groups;
}
