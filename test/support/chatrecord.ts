import type { ToldLine } from "./chatprocess.ts";

type Submission = { id: string; op: string; text?: string };
type ReplyLine = Extract<ToldLine, { type: "reply" }>;
type Told = { reply: ReplyLine; text: string };

/** All that a client has submitted and was told, over all processes of a chat; finds what contradicts the promises. */
export class ChatRecord {
  readonly problems: string[] = [];
  readonly #submitted = new Map<string, Submission>();
  /** Those whose fate the client knows. */
  readonly #known = new Set<string>();
  readonly #gone = new Set<string>();
  readonly #accepted = new Set<string>();
  readonly #told = new Map<string, Told>();
  readonly #begun = new Set<string>();
  readonly #ended = new Set<string>();
  /** How often a reply may come once more: for each time that it was asked for, or its process was killed. */
  readonly #due = new Map<string, number>();

  /** The line of a new submission. */
  add(fields: { op: string } & Record<string, unknown>): string {
    const whole = { id: `s${this.#submitted.size}`, ...fields };
    this.#submitted.set(whole.id, whole);
    return JSON.stringify(whole);
  }

  /** The line of one that was submitted before. */
  again(id: string): string {
    this.#due.set(id, this.#dueOf(id) + 1);
    return JSON.stringify(this.#submitted.get(id));
  }

  get ids(): readonly string[] {
    return [...this.#submitted.keys()];
  }

  /** Those that a session may know: one without a turn is gone when it ends, with what was submitted. */
  get repeatable(): readonly string[] {
    return this.ids.filter((id) => !this.#gone.has(id));
  }

  /** The session is gone. */
  startOver(): void {
    for (const id of this.#known) this.#gone.add(id);
  }

  /** Those that have perhaps not arrived. */
  get unknown(): readonly string[] {
    return this.ids.filter((id) => !this.#known.has(id));
  }

  opOf(id: string): string | undefined {
    return this.#submitted.get(id)?.op;
  }

  reply(id: string): ReplyLine | undefined {
    return this.#told.get(id)?.reply;
  }

  /** A process is over. One that is `whole` has told everything, and there is nothing to tell again. */
  end({ whole }: { whole: boolean }): void {
    if (whole) return this.#due.clear();
    for (const id of this.ids) this.#due.set(id, Math.max(this.#dueOf(id), 1));
  }

  see(line: ToldLine): void {
    const id = line.submission;
    if (id === undefined) return;
    if (line.type === "accepted" || line.type === "rejected" || line.type === "reply") this.#known.add(id);
    if (line.type === "accepted") this.#accepted.add(id);
    else if (line.type === "reply") this.#seeReply(line);
    else if (line.type !== "rejected") this.#seeTurn(line, id);
  }

  /** Also those of earlier processes. */
  checkReplies(): void {
    for (const id of this.#accepted)
      if (!this.#told.has(id)) this.problems.push(`no reply to ${JSON.stringify(this.#submitted.get(id))}`);
  }

  /** An input is in the log once, or not at all if it was not answered. */
  checkPrompts(prompts: readonly Pick<Submission, "id" | "text">[]): void {
    const counts = Map.groupBy(prompts, ({ id }) => id);
    for (const [id, { op, text }] of this.#submitted) {
      if (op !== "input") continue;
      const found = counts.get(id) ?? [];
      const { status } = this.reply(id) ?? {};
      if (found.length > 1) this.problems.push(`${id} is in the log ${found.length} times`);
      if (found.length === 0 && status === "done") this.problems.push(`${id} was answered and is not in the log`);
      if (found.some((prompt) => prompt.text !== text)) this.problems.push(`${id} has another text in the log`);
    }
  }

  #seeReply(reply: ReplyLine): void {
    const { submission: id, status, error, result } = reply;
    const op = this.opOf(id);
    const text = JSON.stringify({ status, error, result });
    const before = this.#told.get(id);
    if (op === undefined) this.problems.push(`a reply to ${id}, which nobody submitted`);
    if (error?.code === "internal") this.problems.push(`a bug: ${text}`);
    if (before !== undefined && before.text !== text)
      this.problems.push(`two replies to ${op} ${id}: ${before.text} and ${text}`);
    if (before !== undefined) {
      if (this.#dueOf(id) === 0) this.problems.push(`the reply to ${op} ${id} was told again`);
      this.#due.set(id, this.#dueOf(id) - 1);
    }
    this.#told.set(id, { reply, text });
  }

  #dueOf(id: string): number {
    return this.#due.get(id) ?? 0;
  }

  #seeTurn({ type }: ToldLine, id: string): void {
    if (this.#ended.has(id)) this.problems.push(`${type} of ${id} after its turn.end`);
    if (type === "turn.start" && this.#begun.has(id)) this.problems.push(`the turn of ${id} began twice`);
    if (type === "turn.start") this.#begun.add(id);
    if (type === "turn.end") this.#ended.add(id);
  }
}
