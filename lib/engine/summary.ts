import { KodaError } from "../errors.ts";
import { type Message, textOf } from "../model/message.ts";
import type { Usage } from "../model/model.ts";
import { estimateTokens } from "../session/contextsize.ts";
import { cutBefore } from "../session/graphemes.ts";
import type { Event } from "./event.ts";
import { Gathering } from "./gather.ts";
import { lose, requestOf, spendReply } from "./request.ts";
import request from "./summary.md" with { type: "text" };
import type { Turn } from "./turn.ts";

/** Shares of the window: the longest summary, and what is asked for. */
const longestShare = 0.2;
const wantedShare = 0.1;
const wordsPerToken = 0.7;

/** A request for a summary that is too long itself is shortened to these shares of the window, one after the other. */
const shares = [0.75, 0.5, 0.3] as const;

export type Summary = { text: string; usage: Usage };

/** The room for a summary: the window, and what the conversation with and without its messages takes of it. */
type Room = { window: number; used: number; overhead: number };

/** Asks the model for a summary of the conversation. Throws when there is none, with the reason. */
export async function* requestSummary(turn: Turn, room: Room, signal: AbortSignal): AsyncGenerator<Event, Summary> {
  const { window, used, overhead } = room;
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
      if (!isTooLong || index === attempts.length - 1) throw error;
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
  turn.ledger.requests++;
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
  } finally {
    turn.progress.work = Promise.allSettled([stream.return?.()]);
  }
  const { reply } = gathering;
  if (reply === undefined) throw new Error("The model's stream ended without its end event");
  const { usage } = reply.item;
  spendReply(turn, whole, reply);
  const text = reply.text.trim();
  if (text === "") throw new KodaError("empty", "the model sent no text");
  return { text: atMost(text, window * longestShare), usage };
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
    if (sizeOf(short) <= tokens) return short;
    short = messages.map((message) => withShortText(message, length));
  }
  const [environment, ...others] = groupsOf(short);
  if (environment === undefined) return short;
  const sizes = others.map(sizeOf);
  let left = sizeOf(environment) + sizes.reduce((sum, size) => sum + size, 0);
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

function sizeOf(messages: readonly Message[]): number {
  return estimateTokens(JSON.stringify(messages, (key, value) => (key === "base64" ? "" : value)).length);
}
