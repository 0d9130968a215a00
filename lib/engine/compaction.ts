import { KodaError, messageOf } from "../errors.ts";
import { noUsage } from "../model/usage.ts";
import { estimateTokens } from "../session/contextsize.ts";
import type { Item } from "../session/item.ts";
import type { Event } from "./event.ts";
import type { Reply } from "./gather.ts";
import { isLastRequest, limitReached, priced } from "./ledger.ts";
import { ask, foreseeRequest } from "./request.ts";
import { retain } from "./retention.ts";
import { staleResults } from "./stale.ts";
import { requestSummary, type Summary } from "./summary.ts";
import type { Turn } from "./turn.ts";

/** The most of a window that a conversation may fill, whatever the configuration says. */
const mostShare = 0.85;
const mostFailures = 3;

/** Keeps a conversation within the model's window. Lives as long as the conversation. */
export class Compaction {
  readonly #share: number;
  readonly #isAutomatic: boolean;
  /** Known once a request was refused for its length: the window may be smaller than the model's description says. */
  #mostTokens = Infinity;
  #failures = 0;
  #isFirst = true;

  constructor({ auto, at }: { auto: boolean; at: number }) {
    this.#isAutomatic = auto;
    this.#share = Math.min(at, mostShare);
  }

  /** Compacts before a request that would nearly fill the window. */
  async *prepare(turn: Turn, signal: AbortSignal): AsyncGenerator<Event, void> {
    if (this.#isFirst) yield* leaveOutStale(turn);
    this.#isFirst = false;
    const isFull = tokensOf(turn) >= this.#windowOf(turn) * this.#share;
    if (isFull && isWorthwhile(turn) && this.#mayRun(turn)) yield* this.#compact(turn, signal);
  }

  /** Makes a request; compacts once and tries again when the provider refuses it for its length. */
  async *ask(turn: Turn, options: { withoutTools: boolean }, signal: AbortSignal): AsyncGenerator<Event, Reply> {
    try {
      return yield* ask(turn, options, signal);
    } catch (error) {
      if (!(error instanceof KodaError) || error.code !== "context" || !this.#mayRun(turn)) throw error;
      this.#mostTokens = Math.min(this.#mostTokens, tokensOf(turn));
      const isShorter = yield* this.#compact(turn, signal);
      if (!isShorter) throw error;
    }
    return yield* ask(turn, options, signal);
  }

  #windowOf({ info }: Turn): number {
    return Math.min(info.contextWindow, this.#mostTokens);
  }

  #mayRun({ ledger }: Turn): boolean {
    const hasRequests = limitReached(ledger) === undefined && !isLastRequest(ledger);
    return this.#isAutomatic && this.#failures < mostFailures && hasRequests;
  }

  /** Returns false when there was nothing that could be left out. */
  async *#compact(turn: Turn, signal: AbortSignal): AsyncGenerator<Event, boolean> {
    const { session } = turn;
    const before = tokensOf(turn);
    const { kept, tail, trims, replaced } = retain(session.items(), this.#windowOf(turn));
    const items: Item[] = [];
    if (replaced > 0) {
      const summary = yield* this.#summarize(turn, signal);
      const text = replacementText(turn, summary);
      const usage = summary?.usage ?? noUsage;
      items.push(priced({ kind: "compaction" as const, text, kept, tail, usage }, turn.info.price));
    }
    if (trims.length > 0) items.push({ kind: "trim", results: trims });
    if (items.length === 0) return false;
    session.append(...items);
    session.files.forgetContents();
    foreseeRequest(turn);
    yield { type: "compact", kind: "full", before_tokens: before, after_tokens: tokensOf(turn) };
    return true;
  }

  /** Without a summary the conversation goes on with what is kept: that is better than its end. */
  async *#summarize(turn: Turn, signal: AbortSignal): AsyncGenerator<Event, Summary | undefined> {
    try {
      const summary = yield* requestSummary(
        turn,
        { window: this.#windowOf(turn), used: tokensOf(turn), overhead: overheadOf(turn) },
        signal,
      );
      this.#failures = 0;
      return summary;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof KodaError)) throw error;
      this.#failures++;
      yield failureNotice(messageOf(error), this.#failures);
      return undefined;
    }
  }
}

function* leaveOutStale(turn: Turn): Generator<Event, void> {
  const { session } = turn;
  const results = staleResults(
    session.items().filter(({ turn: number }) => number < session.info.turns),
    Date.now(),
  );
  if (results.length === 0) return;
  const before = tokensOf(turn);
  session.append({ kind: "trim", results });
  yield { type: "compact", kind: "micro", before_tokens: before, after_tokens: tokensOf(turn) };
}

/** A compaction that nothing was said after would not make it smaller. */
function isWorthwhile({ session }: Turn): boolean {
  const items = session.items();
  const last = items.findLastIndex(({ kind }) => kind === "compaction");
  return (
    last === -1 || items.slice(last).some((item) => item.kind === "assistant" && item.seq > (items[last]?.seq ?? 0))
  );
}

function tokensOf(turn: Turn): number {
  return turn.session.contextTokens(() => overheadOf(turn));
}

/** The part of each request beside the messages. */
function overheadOf({ system, tools }: Turn): number {
  const offers = tools.map(({ name, about, input }) => [name, about, input]);
  return estimateTokens(system.length + JSON.stringify(offers).length);
}

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
