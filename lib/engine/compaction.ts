import { type ErrorCode, KodaError, messageOf } from "../errors.ts";
import type { Item } from "../session/item.ts";
import type { Event } from "./event.ts";
import type { Reply } from "./gather.ts";
import { affordableOutput, isLastRequest, limitReached, priced } from "./ledger.ts";
import { ask, contextTokens, foreseeRequest, overheadOf, reportContext } from "./request.ts";
import { retain } from "./retention.ts";
import { staleResults } from "./stale.ts";
import { requestSummary, shortestSummary, type Summary } from "./summary.ts";
import type { Turn } from "./turn.ts";

/** The most of a window that a conversation may fill, whatever the configuration says. */
const mostShare = 0.85;
const mostFailures = 3;

/** A conversation is compacted again when it has grown by this share of the window. */
const growthShare = 0.1;

type CompactionOptions = {
  auto: boolean;
  at: number;
  /** Old results are left out when a session is resumed. A fork has those of its parent, in the provider's cache. */
  isResumed: boolean;
  now: () => number;
};

/** Keeps a conversation within the model's window. Lives as long as the conversation. */
export class Compaction {
  readonly #share: number;
  readonly #isAutomatic: boolean;
  readonly #now: () => number;
  /** Known once a request was refused for its length: the window may be smaller than the model's description says. */
  #mostTokens = Infinity;
  /** The size below which another compaction would not help. */
  #leastTokens = 0;
  #failures = 0;
  #isFirst: boolean;
  /** The request that was refused for its length is made again, once. */
  #isRetry = false;

  constructor({ auto, at, isResumed, now }: CompactionOptions) {
    this.#isFirst = isResumed;
    this.#isAutomatic = auto;
    this.#now = now;
    this.#share = Math.min(at, mostShare);
  }

  /** Compacts before a request that would nearly fill the window. */
  async *prepare(turn: Turn, signal: AbortSignal): AsyncGenerator<Event, void> {
    if (this.#isFirst && this.#isAutomatic) yield* leaveOutStale(turn, this.#now());
    this.#isFirst = false;
    const tokens = contextTokens(turn);
    const isFull = tokens >= this.#windowOf(turn) * this.#share && tokens >= this.#leastTokens;
    if (isFull && this.#mayRun(turn)) yield* this.#compact(turn, signal);
  }

  /** Makes a request. Undefined when it was refused for its length and the conversation is shorter now. */
  async *ask(
    turn: Turn,
    options: { withoutTools: boolean },
    signal: AbortSignal,
  ): AsyncGenerator<Event, Reply | undefined> {
    try {
      const reply = yield* ask(turn, options, signal);
      this.#isRetry = false;
      return reply;
    } catch (error) {
      const isTooLong = error instanceof KodaError && error.code === "context";
      if (!isTooLong || this.#isRetry || !this.#mayRun(turn)) throw error;
      this.#isRetry = true;
      this.#mostTokens = Math.min(this.#mostTokens, contextTokens(turn));
      const isShorter = yield* this.#compact(turn, signal);
      if (!isShorter) throw error;
      return undefined;
    }
  }

  /** Compacts when the user asks for it. Returns false when there was nothing to leave out. */
  async *now(turn: Turn, signal: AbortSignal): AsyncGenerator<Event, boolean> {
    return yield* this.#compact(turn, signal);
  }

  #windowOf({ info }: Turn): number {
    return Math.min(info.contextWindow, this.#mostTokens);
  }

  /** The task needs a request after the one for the summary, and money for a summary. */
  #mayRun(turn: Turn): boolean {
    const { ledger, info } = turn;
    const affordable = affordableOutput(ledger, info.price) ?? Infinity;
    const isAffordable = limitReached(ledger) === undefined && affordable >= shortestSummary;
    return this.#isAutomatic && this.#failures < mostFailures && isAffordable && !isLastRequest(ledger);
  }

  /** Returns false when there was nothing that could be left out. */
  async *#compact(turn: Turn, signal: AbortSignal): AsyncGenerator<Event, boolean> {
    const { session } = turn;
    const before = contextTokens(turn);
    const { kept, tail, trims, replaced } = retain(session.items(), this.#windowOf(turn));
    const items: Item[] = [];
    if (replaced > 0) {
      const summary = yield* this.#summarize(turn, signal);
      const text = replacementText(turn, summary);
      const cost = summary && priced({ usage: summary.usage }, turn.info.price);
      items.push({ kind: "compaction", text, kept, tail, ...cost });
    }
    if (trims.length > 0) items.push({ kind: "trim", results: trims });
    if (items.length === 0) return false;
    session.append(...items);
    session.files.forgetContents();
    foreseeRequest(turn);
    const after = contextTokens(turn);
    this.#leastTokens = after + this.#windowOf(turn) * growthShare;
    yield { type: "compact", kind: "full", before_tokens: before, after_tokens: after };
    yield reportContext(turn, after);
    return true;
  }

  /** Without a summary the conversation goes on with what is kept: that is better than its end. */
  async *#summarize(turn: Turn, signal: AbortSignal): AsyncGenerator<Event, Summary | undefined> {
    try {
      const summary = yield* requestSummary(
        turn,
        {
          window: this.#windowOf(turn),
          used: contextTokens(turn),
          overhead: overheadOf(turn),
          mayAsk: () => this.#mayRun(turn),
        },
        signal,
      );
      this.#failures = 0;
      return summary;
    } catch (error) {
      signal.throwIfAborted();
      // Any other failure would meet the next request too, and leaves the conversation as it is.
      if (!(error instanceof KodaError) || !summaryFailures.has(error.code)) throw error;
      this.#failures++;
      yield failureNotice(messageOf(error), this.#failures);
      return undefined;
    }
  }
}

function* leaveOutStale(turn: Turn, now: number): Generator<Event, void> {
  const { session } = turn;
  const results = staleResults(
    session.items().filter(({ turn: number }) => number < session.info.turns),
    now,
  );
  if (results.length === 0) return;
  const before = contextTokens(turn);
  session.append({ kind: "trim", results });
  const after = contextTokens(turn);
  yield { type: "compact", kind: "micro", before_tokens: before, after_tokens: after };
  yield reportContext(turn, after);
}

/** Failures that are about the summary alone. */
const summaryFailures: ReadonlySet<ErrorCode> = new Set([
  "context",
  "empty",
  "content_policy",
  "max_output",
  "request",
  "unsupported_parameter",
]);

function failureNotice(problem: string, failures: number): Event {
  const rest = "older messages were left out without a summary";
  const off = failures < mostFailures ? "" : `. Compaction failed ${failures} times in a row and is off now`;
  const message = `Could not summarize the conversation (${problem}): ${rest}${off}`;
  return { type: "notice", level: "warn", code: "compaction", message };
}

/** The message that stands in the place of those that were left out. */
function replacementText({ session, judge }: Turn, summary: Summary | undefined): string {
  const todo = session.todo.items;
  const found = "RecallContext finds the originals, by words, turn or output.";
  const open = todo.some(({ status }) => status !== "done") ? todo : [];
  return [
    summary === undefined
      ? `[The messages between those above and those below were left out to make room, without a summary. ${found}]`
      : `[The messages between those above and those below were replaced by this summary of yours. ${found}]`,
    summary?.text ?? "",
    judge.request ?? "",
    open.length === 0 ? "" : `Todo list:\n${open.map(({ text, status }) => `- [${status}] ${text}`).join("\n")}`,
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}
