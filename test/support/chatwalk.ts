import { runChat } from "../../lib/chat/chat.ts";
import type { SettingsChange } from "../../lib/chat/submission.ts";
import type { Mode } from "../../lib/config/config.ts";
import { Host } from "../../lib/conversation/host.ts";
import type { SessionChoice } from "../../lib/conversation/settings.ts";
import type { Event } from "../../lib/engine/event.ts";
import { promptsOf } from "./chat.ts";
import { call, type Entry, reply, say, wait } from "./model-reply.ts";
import { type ModelServer, startModelServer } from "./model-server.ts";
import { settingsIn } from "./opened.ts";
import { makePlace, type Place } from "./place.ts";
import { seeded } from "./random.ts";

type Told = Event & { submission?: string | undefined };
type Submission = { id: string; op: string; text?: string };

/** A client that submits at random, in this process and without a sandbox; returns what is wrong with the answers. */
export async function walkChat(seed: number): Promise<string[]> {
  const random = seeded(seed);
  await using place = makePlace();
  const script = new RandomModel(random);
  await using server = await startModelServer((request) => script.answer(promptsOf(request).at(-1) ?? ""));
  const walk = new ChatWalk({ place, server, random });
  await walk.run("new");
  for (let runs = Math.floor(random() * 3); runs > 0; runs--) await walk.run("resume");
  await walk.probe();
  return [...server.problems, ...walk.problems];
}

/** Its replies take some time, call tools, and say something. */
class RandomModel {
  readonly #random: () => number;
  #calls = 0;

  constructor(random: () => number) {
    this.#random = random;
  }

  answer(last: string): Entry {
    if (last.startsWith("probe") || last.includes("summar")) return say("ok");
    const pause = this.#random() < 0.5 ? [wait(Bun.sleep(Math.floor(this.#random() * 4)))] : [];
    const name = `f${this.#calls++}.txt`;
    const parts = [say("so"), call("Write", { path: name, content: name }), call("List", { path: "." })];
    const chosen = parts[Math.floor(this.#random() * 5)] ?? say("done");
    return reply(...pause, chosen, ...pause);
  }
}

type WalkOptions = { place: Place; server: ModelServer; random: () => number };

class ChatWalk {
  readonly problems: string[] = [];
  readonly #options: WalkOptions;
  readonly #submitted = new Map<string, Submission>();
  readonly #replies = new Map<string, Extract<Event, { type: "reply" }>>();
  readonly #ended = new Set<string>();
  #latest: Submission | undefined;
  #session = "";
  #count = 0;

  constructor(options: WalkOptions) {
    this.#options = options;
  }

  /** One process: random submissions, then the end of input or a shutdown. */
  async run(choice: "new" | "resume"): Promise<void> {
    const { random } = this.#options;
    // A session that nothing has happened in is gone when it is closed, with what was submitted.
    this.#latest = undefined;
    const steps = 3 + Math.floor(random() * 12);
    const lines = new Lines();
    const events = this.#events(choice, lines);
    const reading = (async () => {
      for await (const event of events) this.#see(event, lines);
    })();
    for (let step = 0; step < steps; step++) {
      if (random() < 0.6) await Bun.sleep(Math.floor(random() * 8));
      lines.push(this.#next());
    }
    if (random() < 0.3) lines.push(this.#submit({ op: "shutdown" }));
    lines.end();
    await reading;
    this.#checkEnd();
  }

  /** What the model is sent is the same in the process that has seen everything and in one that reads the log. */
  async probe(): Promise<void> {
    const { server } = this.#options;
    const sent: unknown[] = [];
    for (const turns of [1, 1]) {
      const lines = new Lines();
      lines.push(this.#submit({ op: "input", text: "probe" }));
      const before = server.requests.length;
      for await (const event of this.#events("resume", lines)) {
        if (event.type !== "reply") continue;
        if (server.requests.length > before && sent.length < 2) sent.push(server.requests.at(-1)?.body.messages);
        lines.push(this.#submit({ op: "rollback", turns }));
        lines.end();
      }
    }
    const [first, second] = sent.map((messages) => JSON.stringify(messages));
    if (first !== second) this.problems.push(`the log gives other messages: ${first} and ${second}`);
  }

  #events(choice: "new" | "resume", lines: Lines): AsyncGenerator<Told, void> {
    const { place, server } = this.#options;
    const session = choice === "new" ? { kind: "new" as const } : { kind: "named" as const, id: this.#session };
    return chatHere({ place, server, session, lines, problems: this.problems });
  }

  #next(): string {
    const { random } = this.#options;
    const chance = random();
    if (chance < 0.4) return this.#submit({ op: "input", text: `input ${this.#count}` });
    if (chance < 0.5) return this.#submit({ op: "interrupt" });
    if (chance < 0.6) return this.#submit({ op: "settings", mode: random() < 0.5 ? "safe" : "auto" });
    if (chance < 0.66) return this.#submit({ op: "undo" });
    if (chance < 0.72) return this.#submit({ op: "compact" });
    if (chance < 0.78) return this.#submit({ op: "tools.list" });
    if (chance < 0.82) return this.#submit({ op: "mcp.refresh" });
    if (chance < 0.86) return this.#submit({ op: "clear" });
    if (chance < 0.9) return this.#submit({ op: "approve", call: "nowhere", decision: "once" });
    if (chance < 0.95) return JSON.stringify(this.#latest ?? { op: "interrupt" });
    return "no submission";
  }

  #submit(submission: { op: string } & Record<string, unknown>): string {
    const whole = { id: `s${this.#count++}`, ...submission };
    this.#submitted.set(whole.id, whole);
    this.#latest = whole;
    return JSON.stringify(whole);
  }

  #see(event: Told, lines: Lines): void {
    const { random } = this.#options;
    if (event.type === "session.start") this.#session = event.session;
    if (event.type === "approval.request") {
      const decision = (["once", "session", "deny", "abort"] as const)[Math.floor(random() * 4)];
      lines.push(this.#submit({ op: "approve", call: event.id, decision }));
    }
    if (event.type === "turn.end" && event.submission !== undefined) this.#ended.add(event.submission);
    else if (event.type !== "reply" && event.type !== "accepted" && this.#ended.has(event.submission ?? ""))
      this.problems.push(`${event.type} of ${event.submission} after its turn.end`);
    if (event.type === "accepted" || event.type === "rejected") this.#settled.add(event.submission ?? "");
    if (event.type !== "reply") return;
    const before = this.#replies.get(event.submission);
    if (before !== undefined && JSON.stringify(before.result) !== JSON.stringify(event.result))
      this.problems.push(`two replies to ${event.submission}: ${JSON.stringify(before)} and ${JSON.stringify(event)}`);
    this.#replies.set(event.submission, event);
  }

  readonly #settled = new Set<string>();

  /** Everything that was accepted has its reply. */
  #checkEnd(): void {
    for (const id of this.#settled) {
      const isRejected = !this.#replies.has(id);
      const { op } = this.#submitted.get(id) ?? { op: "" };
      if (isRejected && op !== "undo" && id !== "") this.problems.push(`no reply to ${op} ${id}`);
    }
    this.#settled.clear();
  }
}

type ChatHere = {
  place: Place;
  server: ModelServer;
  session?: SessionChoice;
  lines: Lines;
  problems: string[];
  mode?: Mode;
};

/** A chat in this process, without a sandbox. */
export function chatHere({ place, server, session, lines, problems, mode }: ChatHere): AsyncGenerator<Told, void> {
  const host = new Host({ stop: new AbortController(), cassette: { loose: false } });
  const first = mode === undefined ? [] : [{ mode }];
  return runChat(host, {
    lines,
    version: "0",
    ownFiles: [],
    canAnswer: false,
    history: undefined,
    own: { look: () => {}, has: () => false },
    settings: (changes) =>
      settingsIn(place, server, { ...(session && { session }), overrides: overridesOf([...first, ...changes]) }),
    remember: async () => {},
    conclude: async (outcome) => outcome,
    delivered: async () => true,
    report: async (error) => void problems.push(`a bug: ${error instanceof Error ? error.stack : String(error)}`),
  });
}

function overridesOf(changes: readonly SettingsChange[]) {
  const mode = changes.findLast((change) => change.mode !== undefined)?.mode;
  return mode === undefined ? {} : { mode: { value: mode, flag: "--mode" as const } };
}

/** Lines that are pushed, to be read as they come. */
export class Lines implements AsyncIterable<string> {
  readonly #lines: string[] = [];
  #wake = Promise.withResolvers<void>();
  #isOver = false;

  push(line: string): void {
    if (this.#isOver) return;
    this.#lines.push(line);
    this.#wake.resolve();
  }

  end(): void {
    this.#isOver = true;
    this.#wake.resolve();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string, void> {
    while (true) {
      yield* this.#lines.splice(0);
      if (this.#lines.length > 0) continue;
      if (this.#isOver) return;
      await this.#wake.promise;
      this.#wake = Promise.withResolvers();
    }
  }
}
