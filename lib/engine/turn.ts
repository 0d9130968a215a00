import type { KeyedLocks } from "../async/keyedlocks.ts";
import { unlessAborted } from "../async/unlessaborted.ts";
import { KodaError } from "../errors.ts";
import type { Claim } from "../trust/claim.ts";
import type { ImagePart, TextPart } from "../model/message.ts";
import type { Model, ModelInfo } from "../model/model.ts";
import type { ActiveSkill, Item, ItemOf } from "../session/item.ts";
import type { Session } from "../session/session.ts";
import type { Catalog } from "../tools/catalog.ts";
import type { ToolContext } from "../tools/tool.ts";
import type { Gate } from "../trust/gate.ts";
import { accept } from "./accept.ts";
import type { AnswerJudge } from "./answer.ts";
import type { Changes } from "./changes.ts";
import type { Compaction } from "./compaction.ts";
import { renewCatalog } from "./catalogchange.ts";
import { confirm } from "./confirm.ts";
import { dispatch } from "./dispatch.ts";
import type { Event, Events, Figures } from "./event.ts";
import type { KeyWatch } from "./exposure.ts";
import type { RepositoryGuard } from "./guard.ts";
import type { Hooks } from "./hooks.ts";
import { extend } from "./extension.ts";
import { onlyFinishes } from "./finishing.ts";
import type { AnswerJudgement } from "./judgement.ts";
import { isLastRequest, type Ledger, limitReached } from "./ledger.ts";
import type { LoopGuard } from "./loop.ts";
import { type Outcome, outcomeOfError, outcomeOfFailure } from "./outcome.ts";
import { recordEnd, tellTurnEnd, turnEnd } from "./turnend.ts";
import type { Verification } from "./verify.ts";
import { foreseeRequest } from "./request.ts";
import { circumstancesOf, type Task } from "./task.ts";

/** The user's request; an empty one continues the task of a turn that was cut off. */
export type Prompt = readonly (TextPart | ImagePart)[];

/** Input that comes while a turn runs: of the user's, or the result of an agent that worked in the background. */
export type Input =
  { kind: "prompt"; parts: Prompt; submission?: string | undefined } | { kind: "result"; item: ItemOf<"note"> };

/** The part of a call's context that the conversation provides. */
export type CallContext = Omit<ToolContext, "call" | "signal" | "report" | "finish">;

/** The catalog of the current request. `advance` is called between requests: only there can it change. */
type TurnCatalog = { readonly current: Catalog; advance(): Promise<CatalogChange | undefined> };

/** The names of the tools that came and went; `problem` says why the catalog is still the one before. */
export type CatalogChange = { added: readonly string[]; removed: readonly string[]; problem?: string };

/** A frozen view of one turn. All state that changes lives in the objects that it refers to. */
export type Turn = {
  readonly model: Model;
  readonly info: ModelInfo;
  readonly catalog: TurnCatalog;
  readonly gate: Gate;
  /** The skills that narrow the calls of this turn: one of its own, and for an agent that of its parent. */
  readonly activeSkills: () => readonly ActiveSkill[];
  readonly system: string;
  readonly verification?: Verification;
  readonly task: Task;
  /** Decides what ends the turn. */
  readonly judge: AnswerJudge;
  readonly session: Session;
  readonly ledger: Ledger;
  readonly events: Events;
  /** The context of the call with this id. With its claim, if that is only to read, it gives no right to write. */
  readonly contextOf: (call: string, claim?: Claim) => CallContext;
  readonly repositories: RepositoryGuard;
  /** The files that calls are writing, of this turn and of agents. */
  readonly locks: Pick<KeyedLocks, "hold">;
  /** Absent when the user has configured none. */
  readonly hooks?: Hooks | undefined;
  readonly changes: Pick<Changes, "watch" | "collect" | "count">;
  readonly compaction: Compaction;
  readonly loop: LoopGuard;
  /** The environment as far as the model does not know it yet. */
  readonly environment: () => Item | undefined;
  /** Input that comes while the turn runs. */
  readonly inbox: { ready(): Promise<void>; settled(): Promise<void>; take(): Input[]; isEmpty: boolean };
  /** Stops agents in the background if they end with this turn: what they have written by then is in its diff. */
  readonly settle: () => Promise<void>;
  /** Asks the user for more requests than the limit; absent where the user cannot be asked. */
  readonly moreRequests?: ((requests: number) => Promise<number>) | undefined;
  readonly progress: Progress;
  readonly watchKey: KeyWatch;
  /** Called whenever the model or a tool sends something. */
  readonly heard: () => void;
  /** Called when a wait for a limit of the provider's begins, and disposed at its end. */
  readonly waits: () => Disposable;
};

/** The progress of a turn. */
export type Progress = {
  /** The answer so far, for a turn that ends before it is complete. */
  text: string;
  usage: Figures;
  /** A call of the model's may have written. */
  mayHaveWritten: boolean;
  /** The hooks on `stop` have run: they run once a turn. */
  hasRunStopHooks: boolean;
  /** Settles when the current stream or calls have ended, or were abandoned. */
  work: Promise<unknown>;
};

/** One turn, from its first items to its outcome. Its calls have stopped when it is over. */
export async function* runTurn(
  turn: Turn,
  opening: readonly Item[],
  parent: AbortSignal,
): AsyncGenerator<Event, Outcome> {
  const { session, events, judge, progress } = turn;
  const request: Item[] = judge.request === undefined ? [] : [{ kind: "note", text: judge.request }];
  const number = session.beginTurn(...opening, ...request);
  let recorded: Outcome | undefined;
  try {
    yield { type: "turn.start", turn: number };
    const outcome = yield* worked(turn, parent);
    yield* events.until(turn.settle());
    yield* tellTurnEnd(turn, { opening, outcome }, parent);
    yield* events.drain();
    yield* await turn.changes.collect(parent);
    recorded = recordEnd(turn, outcome, parent);
    yield turnEnd(number, recorded);
    return recorded;
  } finally {
    // The reader left.
    if (recorded === undefined) recordEnd(turn, outcomeOfError(readerGone, parent, progress.text), parent);
  }
}

/** The outcome of the work, however it ended; nothing of it runs any more. */
async function* worked(turn: Turn, parent: AbortSignal): AsyncGenerator<Event, Outcome> {
  const life = new AbortController();
  try {
    return yield* work(turn, AbortSignal.any([parent, life.signal]));
  } catch (error) {
    const outcome = outcomeOfError(error, parent, turn.progress.text);
    if (outcome.status === "failed" && outcome.error.code === "internal") yield defect(error);
    return outcome;
  } finally {
    life.abort(readerGone);
    await turn.progress.work;
  }
}

const readerGone = new KodaError("reader_gone", "the reader of this turn's events is gone");

/** Ask the model; stop if it asked for nothing; do what it asked; repeat. */
async function* work(turn: Turn, signal: AbortSignal): AsyncGenerator<Event, Outcome> {
  const { session, ledger, judge, progress, compaction, inbox, events } = turn;
  foreseeRequest(turn);
  let working = false;
  while (true) {
    yield* events.until(unlessAborted(inbox.ready(), signal));
    yield* accept(turn, inbox.take(), signal);
    yield* renewCatalog(turn, signal);
    yield* compaction.prepare(turn, signal);
    const spent = limitReached(ledger);
    if (spent !== undefined) return outcomeOfFailure(spent, progress.text);

    // The last request of an unfinished task asks for the best answer so far, unless the user lets it go on.
    const last = working && isLastRequest(ledger) && !(yield* extend(turn, signal));
    if (last) session.append({ kind: "note", text: lastRequest });
    const reply = yield* compaction.ask(turn, { withoutTools: last }, signal);
    if (reply === undefined) continue;

    // Calls in the last reply are ignored; the limit ends the turn.
    if (last) continue;
    working = true;
    const { calls } = reply;
    if (calls.length > 0) {
      judge.startOver(calls);
      if (limitReached(ledger) === undefined || onlyFinishes(calls)) yield* dispatch(turn, calls, signal);
    }
    const judged = calls.length > 0 ? judge.finishing.judgement : await judge.judge(reply, circumstancesOf(turn));
    const isEnd = judged !== undefined && judged.kind !== "again";
    const judgement = isEnd ? yield* confirm(turn, judged, signal) : judged;
    switch (judgement?.kind) {
      case undefined:
        break;
      case "answer":
        return answered(judgement);
      case "again":
        session.append({ kind: "note", text: judgement.note });
        break;
      case "failed":
        return outcomeOfFailure(judgement.error, judgement.text ?? progress.text);
      default:
        judgement satisfies never;
    }
  }
}

const lastRequest =
  "This is your last reply: no more tools can be used. Say what was done, what was found, and what is left to do.";

function answered({ text, output, incomplete }: Extract<AnswerJudgement, { kind: "answer" }>): Outcome {
  return { status: "done", text, ...(output !== undefined && { output }), ...(incomplete && { incomplete }) };
}

/** A bug in koda, with its stack for a bug report. */
function defect(error: unknown): Event {
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { type: "notice", level: "error", code: "internal", message };
}
