import { KodaError } from "../errors.ts";
import type { Message } from "../model/message.ts";
import type { Database } from "./database.ts";
import { createFileLog, type FileLog } from "./files.ts";
import type { ActiveSkill, EnvironmentFacts, Item, ItemOf, LoggedItem } from "./item.ts";
import { Lease } from "./lease.ts";
import {
  appendItems,
  continued,
  deleteSession,
  insertSession,
  standingOf,
  type SessionInfo,
  updateSession,
} from "./log.ts";
import { readLive } from "./live.ts";
import { openOutputs, type OutputStore } from "./outputs.ts";
import { openRecall, type Recall } from "./recall.ts";
import { Replay } from "./replay.ts";
import { openSubmissions, type Submissions } from "./submissions.ts";
import { createTodoList, type TodoList } from "./todo.ts";

/**
 * A session to open: found in the database, made there just now, or not made yet. Its first item makes it, in the same
 * transaction, so a start that fails leaves nothing, not even when killed.
 */
export type SessionSource = {
  info: SessionInfo;
  owner: string;
  /** Those that still count (live.ts). */
  items: readonly LoggedItem[];
  origin: "found" | "made" | "unmade";
};

type TurnFacts = { error?: { code: string; message: string }; files?: number | undefined };

/**
 * One open conversation: its log, and everything that belongs to it alone while it is open. It holds the session's
 * lease, so no other process writes to it; what is appended has been committed when the call returns.
 */
export class Session implements AsyncDisposable {
  readonly id: string;
  /** True when items were recorded before, its own or those it was forked from. */
  readonly resumed: boolean;
  readonly outputs: OutputStore;
  readonly recall: Recall;
  readonly submissions: Submissions;
  /** Empty at first, also on resume: files may have changed since an earlier run. */
  readonly files: FileLog = createFileLog();

  readonly #db: Database;
  readonly #lease: Lease;
  readonly #isNew: boolean;
  #isMade: boolean;
  readonly #lengthAtStart: number;
  #info: SessionInfo;
  #replay: Replay;
  #todo: TodoList;
  #inTurn = false;
  #closed = false;
  /** Without items, but with submissions to answer. */
  #isAwaited = false;

  constructor(db: Database, { info, owner, items, origin }: SessionSource) {
    this.#db = db;
    this.#lease = new Lease(db, { session: info.id, owner });
    this.#isNew = origin !== "found";
    this.#isMade = origin !== "unmade";
    this.#lengthAtStart = info.length;
    this.#info = info;
    this.#replay = new Replay(items);
    this.#todo = this.#todoOfLog();
    this.id = info.id;
    this.resumed = info.length > 0;
    this.outputs = openOutputs(db, {
      session: info.id,
      position: () => this.#info.length,
      write: (steps) => this.#write(steps),
    });
    this.recall = openRecall(db, { session: info.id });
    this.submissions = openSubmissions(db, { session: info.id, write: (steps) => this.#write(steps) });
  }

  /** The session as a whole, as of the last append; its usage covers all runs. */
  get info(): SessionInfo {
    return this.#info;
  }

  /** A new session or fork without items of its own, of which nothing is kept. */
  get isEmpty(): boolean {
    return this.#isNew && this.#info.length === this.#lengthAtStart && !this.#isAwaited;
  }

  /** The environment that was recorded last. */
  get environment(): EnvironmentFacts | undefined {
    return this.#replay.latest.environment?.facts;
  }

  /** The skill that was loaded last, if that was after this place in the log. */
  skillSince(seq: number): ActiveSkill | undefined {
    const { skill } = this.#replay.latest;
    return skill !== undefined && skill.seq > seq ? skill : undefined;
  }

  get todo(): TodoList {
    return this.#todo;
  }

  /** The end of the latest turn; a turn that was killed has none in the log. */
  get lastTurn(): "none" | "complete" | "unfinished" {
    const { turn } = this.#replay.latest;
    if (turn === undefined) return "none";
    return turn.kind === "turn_end" && turn.reason === "complete" ? "complete" : "unfinished";
  }

  /** The messages for the model. */
  history(): readonly Message[] {
    return this.#replay.messages();
  }

  /** The size of the next request in tokens, with this size of system prompt and tools. */
  contextTokens(overhead: () => number): number {
    return this.#replay.tokens(overhead);
  }

  /** The items that the messages are made of, in their order. */
  items(): readonly LoggedItem[] {
    return this.#replay.items;
  }

  /** Records all of the items or none. They are on disk when this returns. */
  append(...items: Item[]): void {
    if (this.#closed) throw new Error(`session ${this.id} is closed`);
    if (items.length === 0) return;
    const now = Date.now();
    const { logged, info } = continued(this.#info, items, now);
    this.#write(() => appendItems(this.#db, { info, items: logged }));
    this.#info = info;
    for (const item of logged) this.#replay.add(item);
  }

  /** Takes back the last turns, all when there are fewer, and returns their number. */
  rollback(turns: number): number {
    if (!Number.isSafeInteger(turns) || turns < 1) throw new KodaError("usage", "num_turns must be >= 1");
    if (this.#inTurn) throw new KodaError("session_held", "Cannot rollback while a turn is in progress.");
    const dropped = Math.min(turns, this.#info.turns);
    if (dropped === 0) return 0;
    const { info, logged } = continued(this.#info, [{ kind: "rollback", turns: dropped }], Date.now());
    let replay = this.#replay;
    let standing = info;
    this.#write(() => {
      appendItems(this.#db, { info, items: logged });
      replay = new Replay(readLive(this.#db, this.id));
      standing = standingAfter(info, replay);
      updateSession(this.#db, standing);
    });
    this.#replay = replay;
    this.#info = standing;
    this.#todo = this.#todoOfLog();
    this.files.forgetContents();
    return dropped;
  }

  /** Records the start of the next turn with its first items, and returns its number. */
  beginTurn(...items: Item[]): number {
    if (this.#inTurn) throw new Error(`turn ${this.#info.turns} of session ${this.id} has not ended`);
    this.append({ kind: "turn_start" }, ...items);
    this.#inTurn = true;
    return this.#info.turns;
  }

  endTurn(reason: ItemOf<"turn_end">["reason"], { error, files }: TurnFacts = {}): void {
    if (!this.#inTurn) throw new Error(`session ${this.id} is in no turn`);
    // Even if this cannot be recorded: a log without it reads like one that was cut off.
    this.#inTurn = false;
    const failure = error && { code: error.code, message: error.message };
    this.append({
      kind: "turn_end",
      reason,
      ...(files !== undefined && { files }),
      ...(failure && { error: failure }),
    });
  }

  /**
   * Releases the session; the store stays open. A new session or fork without new items is deleted, unless a later
   * process has submissions to answer. Never fails on the store: an empty session is not listed, and a lease ends with
   * its process.
   */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    try {
      // Unless another process has taken it meanwhile, and has perhaps added to it.
      if (this.isEmpty && this.#isMade) this.#write(() => this.#deleteEmpty());
    } catch (error) {
      if (!(error instanceof KodaError)) throw error;
    }
    this.#lease.release();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.close();
    return Promise.resolve();
  }

  #deleteEmpty(): void {
    this.#isAwaited = this.submissions.open().length > 0;
    if (!this.#isAwaited) deleteSession(this.#db, this.id);
  }

  #todoOfLog(): TodoList {
    return createTodoList(this.#replay.latest.todo?.items ?? []);
  }

  #write(steps: () => void): void {
    this.#db.write(() => {
      if (this.#isMade) this.#lease.assertHeld();
      else {
        insertSession(this.#db, this.#info);
        this.#lease.claim();
      }
      steps();
    });
    this.#isMade = true;
  }
}

/** The session's row repeats what the items that still count say. */
function standingAfter(info: SessionInfo, { latest: { turn, environment } }: Replay): SessionInfo {
  const ended = turn?.kind === "turn_end" ? turn.reason : null;
  return { ...info, ended, ...(environment && standingOf(environment.facts)) };
}
