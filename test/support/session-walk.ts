import type { Database } from "bun:sqlite";
import { retain } from "../../lib/engine/retention.ts";
import type { Message } from "../../lib/model/message.ts";
import { noUsage } from "../../lib/model/usage.ts";
import type { Item, ItemOf } from "../../lib/session/item.ts";
import type { Session } from "../../lib/session/session.ts";
import type { Store } from "../../lib/session/store.ts";
import { call, facts, reply, result, user } from "./sessions.ts";

/** One thing that may happen to a session. */
export type Step =
  | { do: "turn"; calls: number; answered: number; steered: boolean; end: ItemOf<"turn_end">["reason"] | "none" }
  | { do: "todo" | "move" | "trim" | "resume" | "fork" | "crash" }
  | { do: "compact"; window: number }
  | { do: "rollback"; turns: number };

/** Everything that a log has to give again. */
export const stateOf = (session: Session) => ({
  items: [...session.items()],
  messages: session.history(),
  todo: session.todo.items,
  environment: session.environment,
  turns: session.info.turns,
  lastTurn: session.lastTurn,
  tokens: session.contextTokens(() => 0),
});

type State = ReturnType<typeof stateOf>;

/** A session that steps are taken with, and the states to which rollbacks have to lead. */
export class Walk {
  session: Session;
  readonly #store: Store;
  /** Another connection to the store's database. */
  readonly #aside: Database;
  /** The states before each turn. */
  #before: State[] = [];
  #isOpen = false;
  #count = 0;

  constructor(store: Store, { aside, session }: { aside: Database; session: Session }) {
    this.#store = store;
    this.#aside = aside;
    this.session = session;
  }

  async take(step: Step): Promise<void> {
    // A turn that did not end belongs to a process that is gone.
    if (this.#isOpen) await this.#crash();
    const n = ++this.#count;
    switch (step.do) {
      case "turn":
        return this.#turn(step, n);
      case "todo":
        this.session.append({ kind: "todo", items: [{ text: `todo ${n}`, status: "pending" }] });
        // As the tool does it.
        this.session.todo.replace([{ text: `todo ${n}`, status: "pending" }]);
        return;
      case "move":
        return this.session.append({ kind: "environment", text: `at ${n}`, facts: { ...facts, cwd: `/${n}` } });
      case "trim":
        return this.session.append({ kind: "trim", results: this.#results().map((seq) => ({ seq, length: 5 })) });
      case "compact":
        return this.#compact(step.window, n);
      case "rollback":
        return await this.#rollback(step.turns);
      case "resume":
        return await this.#reopen(() => this.session.close());
      case "fork":
        return await this.#fork();
      case "crash":
        return await this.#crash();
      default:
        step satisfies never;
    }
  }

  #turn({ calls, answered, steered, end }: Extract<Step, { do: "turn" }>, n: number): void {
    const { session } = this;
    this.#before[session.info.turns] = stateOf(session);
    session.beginTurn(user(`prompt ${n}`));
    this.#isOpen = true;
    // Ids repeat, as with providers that number the calls of each reply.
    const ids = Array.from({ length: calls }, (_, index) => `c${index}`);
    if (calls > 0) session.append(reply("", ...ids.map((id) => call(id))));
    const results = ids.map((id) => result(id, `result ${n} of ${id}`)).filter((_, index) => (answered >> index) & 1);
    for (const item of results.reverse()) session.append(item);
    if (steered) session.append(user(`steer ${n}`));
    if (end === "none") return;
    if (end === "complete") session.append(reply(`answer ${n}`));
    session.endTurn(end);
    this.#isOpen = false;
  }

  #results(): number[] {
    return this.session.items().flatMap((item) => (item.kind === "result" ? [item.seq] : []));
  }

  #compact(window: number, n: number): void {
    const { kept, tail, trims, replaced } = retain(this.session.items(), window);
    const items: Item[] = [];
    if (replaced > 0) items.push({ kind: "compaction", text: `summary ${n}`, kept, tail, usage: noUsage });
    if (trims.length > 0) items.push({ kind: "trim", results: trims });
    this.session.append(...items);
  }

  async #rollback(turns: number): Promise<void> {
    const { session } = this;
    const left = Math.max(0, session.info.turns - turns);
    const expected = this.#before[left];
    const dropped = session.rollback(turns);
    this.#before.length = left;
    if (dropped > 0) assertSame("a rollback", stateOf(session), expected);
  }

  async #fork(): Promise<void> {
    const before = stateOf(this.session);
    this.session.close();
    if (this.session.info.length === 0) return await this.#open();
    this.session = await this.#store.fork(this.session.id);
    assertSame("a fork", stateOf(this.session), before);
    // One that nothing is added to goes when it is closed.
    this.session.append({ kind: "note", text: "forked" });
  }

  async #crash(): Promise<void> {
    this.#isOpen = false;
    // The lease of a process that is gone does not hold; ours would.
    await this.#reopen(() => this.#aside.run("DELETE FROM lease WHERE session = ?", [this.session.id]));
  }

  async #reopen(leave: () => unknown): Promise<void> {
    const { session } = this;
    const before = stateOf(session);
    leave();
    await this.#open();
    assertSame("a resumed session", stateOf(this.session), before);
    // Its lease is renewed for as long as it is open.
    session.close();
  }

  async #open(): Promise<void> {
    const { id, info } = this.session;
    this.session = info.length === 0 ? this.#store.create({ ...facts }) : await this.#store.open(id);
  }
}

export function assertSame(what: string, found: unknown, expected: unknown): void {
  if (Bun.deepEquals(found, expected)) return;
  throw new Error(
    `${what} differs:\n${JSON.stringify(found, null, 1)}\ninstead of\n${JSON.stringify(expected, null, 1)}`,
  );
}

/** As strict providers see it: each call has one result, directly behind its reply and in order; no id comes twice. */
export function assertAccepted(messages: readonly Message[]): void {
  const ids = new Set<string>();
  let due: string[] = [];
  for (const message of messages) {
    if (message.role === "tool") {
      assertSame("the order of results", message.call, due.shift());
      continue;
    }
    assertSame("a reply's results", due, []);
    if (message.role !== "assistant") continue;
    due = message.parts.flatMap((part) => (part.type === "call" ? [part.id] : []));
    for (const id of due) assertSame("an id that comes twice", ids.has(id), false);
    for (const id of due) ids.add(id);
  }
  assertSame("the last reply's results", due, []);
}
