import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Mode } from "../../lib/config/config.ts";
import type { Conversation } from "../../lib/conversation/conversation.ts";
import type { Event } from "../../lib/engine/event.ts";
import type { Outcome } from "../../lib/engine/outcome.ts";
import { KodaError } from "../../lib/errors.ts";
import { type Answer, parentName, pick, Pipes, speakerOf } from "./agentscript.ts";
import type { ModelRequestSeen } from "./model-server.ts";

type Pending = { who: string; release: () => Answer };
type Options = { conversation: () => Conversation; project: string; random: () => number; answer: Answering };
type Answering = (request: ModelRequestSeen) => Answer;

/** The longest time in which nothing at all happens. */
const patienceMs = 10_000;

/**
 * Decides when each answer of the model comes, when the user interrupts and changes the mode, and when commands end: in
 * an order that random numbers choose.
 */
export class AgentSchedule implements Disposable {
  readonly problems: string[] = [];
  readonly events: Event[] = [];
  readonly outcomes: Outcome[] = [];
  readonly #options: Options;
  readonly #pending: Pending[] = [];
  readonly #holds: string[] = [];
  /** The writing calls of the last answer of each agent that came while the mode was plan. */
  readonly #forbidden = new Map<string, { modes: number; writes: readonly string[] }>();
  #turn: Promise<void> = Promise.resolve();
  #isRunning = false;
  readonly #pipes: Pipes;
  #modes = 0;
  #wake = Promise.withResolvers<void>();
  /** Answers come at once. */
  #isOpen = false;
  /** A limit of requests, and those that the server has seen. */
  maxTurns = Infinity;
  #requests = 0;
  /** A number for each request and each answer, in their order. */
  #moment = 0;
  #askedByParent = 0;
  /** Those whose last answer was lost. */
  readonly #lost = new Set<string>();
  readonly #answered = new Map<string, number>();

  constructor(options: Options) {
    this.#options = options;
    this.#pipes = new Pipes(options.project);
  }

  /** For the model server. */
  async answer(request: ModelRequestSeen): Promise<Answer["entry"]> {
    const who = speakerOf(request);
    this.#checkLimit(who);
    this.#checkMode(who);
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const release = () => {
      const answer = this.#options.answer(request);
      if (answer.kind === "lost") this.#lost.add(who);
      this.#answered.set(who, ++this.#moment);
      this.#holds.push(...answer.holds);
      if (this.#isOpen) this.#free();
      if (who !== parentName && this.#options.conversation().authority.mode === "plan")
        this.#forbidden.set(who, { modes: this.#modes, writes: answer.writes });
      resolve(answer);
      return answer;
    };
    if (this.#isOpen) release();
    else this.#pending.push({ who, release });
    this.#poke();
    return (await promise).entry;
  }

  /** One turn with anything that can happen in it; false when it was left running, for somebody who closes it. */
  async turn(prompt: string, { mayStop, mayInterrupt }: { mayStop: boolean; mayInterrupt: boolean }): Promise<boolean> {
    const { random, conversation } = this.#options;
    const interrupt = new AbortController();
    this.#isRunning = true;
    const request = { prompt: [{ type: "text" as const, text: `${parentName}: ${prompt}` }] };
    this.#turn = this.#read(conversation().run(request, interrupt.signal)).finally(() => (this.#isRunning = false));
    while (this.#isRunning) {
      await this.#pause();
      const luck = random();
      if (mayStop && luck < 0.05) return false;
      if (mayInterrupt && luck > 0.97) interrupt.abort(new KodaError("sigint", "interrupted"));
      await this.#act(luck);
    }
    await this.#turn;
    return true;
  }

  /** A random step between two turns. */
  async idle(): Promise<void> {
    const { random } = this.#options;
    for (let steps = Math.floor(random() * 6); steps > 0 && this.#pending.length + this.#holds.length > 0; steps--) {
      await this.#act(random());
      await this.#pause();
    }
  }

  /** Closes the conversation, perhaps in the middle of a turn. */
  async close(closing: Promise<void>): Promise<void> {
    await this.#turn;
    for await (const event of this.#options.conversation().parts.events.until(closing)) this.events.push(event);
  }

  [Symbol.dispose](): void {
    this.#pipes[Symbol.dispose]();
  }

  /** Nothing waits from now on. */
  open(): void {
    this.#isOpen = true;
    for (const { release } of this.#pending.splice(0)) release();
    this.#free();
  }

  async #read(events: AsyncGenerator<Event, Outcome>): Promise<void> {
    while (true) {
      const { done, value } = await events.next();
      if (done === true) {
        this.outcomes.push(value);
        return this.#poke();
      }
      this.events.push(value);
      this.#poke();
    }
  }

  async #act(luck: number): Promise<void> {
    const { random, conversation } = this.#options;
    if (luck > 0.4 && luck < 0.43) {
      this.#modes++;
      conversation().change({ mode: pick<Mode>(["plan", "auto"], random) });
    } else if (luck < 0.15 && this.#holds.length > 0) this.#free(1);
    else if (this.#pending.length > 0)
      this.#pending.splice(Math.floor(random() * this.#pending.length), 1)[0]?.release();
    else if (this.#holds.length > 0 && luck > 0.5) this.#free(1);
    else if (this.#isRunning) await this.#something();
  }

  /** Ends commands that wait. */
  #free(most = Infinity): void {
    for (const name of this.#holds.splice(0, most)) this.#pipes.write(name);
  }

  async #something(): Promise<void> {
    let timer: Timer | undefined;
    const late = new Promise<"late">((resolve) => (timer = setTimeout(() => resolve("late"), patienceMs)));
    const woken = this.#holds.length === 0 ? this.#wake.promise : Promise.race([this.#wake.promise, Bun.sleep(5)]);
    if ((await Promise.race([woken, late])) === "late") throw new Error("Nothing happens any more");
    clearTimeout(timer);
    this.#wake = Promise.withResolvers<void>();
  }

  #poke(): void {
    this.#wake.resolve();
  }

  async #pause(): Promise<void> {
    for (let turns = Math.floor(this.#options.random() * 8); turns > 0; turns--)
      await new Promise((turn) => setImmediate(turn));
  }

  /**
   * The last request of a run is its own. An agent may have sent its request before that and have been slower, so only
   * one counts whose cause came after the parent's last request.
   */
  #checkLimit(who: string): void {
    // The same request again.
    if (this.#lost.delete(who)) return;
    this.#requests++;
    this.#moment++;
    if (who === parentName) this.#askedByParent = this.#moment;
    else if (this.#requests >= this.maxTurns && (this.#answered.get(who) ?? 0) > this.#askedByParent)
      this.problems.push(`request ${this.#requests} of ${this.maxTurns} was one of ${who}`);
  }

  /** An agent asks again, so all calls of its last reply are over. */
  #checkMode(who: string): void {
    const forbidden = this.#forbidden.get(who);
    this.#forbidden.delete(who);
    if (forbidden === undefined || forbidden.modes !== this.#modes) return;
    for (const path of forbidden.writes)
      if (existsSync(join(this.#options.project, path))) this.problems.push(`${who} wrote ${path} in mode plan`);
  }
}
