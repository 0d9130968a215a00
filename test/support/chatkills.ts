import { ChatLog } from "./chatlog.ts";
import { ChatProcess, type ToldLine } from "./chatprocess.ts";
import { ChatRecord } from "./chatrecord.ts";
import { using } from "./koda.ts";
import { call, type Entry, reply, say, wait } from "./model-reply.ts";
import { type ModelRequestSeen, type ModelServer, startModelServer } from "./model-server.ts";
import { makePlace, type Place } from "./place.ts";
import { seeded } from "./random.ts";
import { processesNaming } from "./shell.ts";
import { until } from "./until.ts";

export type KilledChat = { problems: readonly string[]; kills: number; told: number };

/** A client of the binary that submits at random, kills it at a random moment and goes on with the session. */
export async function walkKilledChat(seed: number): Promise<KilledChat> {
  await using place = makePlace();
  const random = seeded(seed);
  const script = new RandomScript(place, random);
  await using server = await startModelServer((request) => walk.answer(request));
  const walk = new KillWalk({ place, server, random, script });
  for (let runs = 1 + Math.floor(random() * 4); runs > 0; runs--) await walk.runUntilKilled();
  await walk.finish();
  return { problems: [...walk.problems, ...server.problems], kills: walk.kills, told: walk.told };
}

/** Replies that take some time, say something, call tools, and leave a command running. */
class RandomScript {
  readonly #place: Place;
  readonly #random: () => number;
  #calls = 0;

  constructor(place: Place, random: () => number) {
    this.#place = place;
    this.#random = random;
  }

  answer({ lines }: ModelRequestSeen): Entry {
    const random = this.#random;
    const last = lines.at(-1)?.text ?? "";
    if (last.includes("probe") || last.includes("summar")) return say("ok");
    const pause = () => (random() < 0.6 ? [wait(() => Bun.sleep(Math.floor(random() ** 2 * 25)))] : []);
    const name = `f${this.#calls++}.txt`;
    const { project } = this.#place;
    const kinds = [
      call("Write", { path: name, content: name }),
      call("List", { path: "." }),
      call("Bash", { command: "echo hello" }),
      ...(random() < 0.15 ? [call("Bash", { command: `tail -f ${project}/f0.txt`, background: true })] : []),
    ];
    const chosen = kinds[Math.floor(random() * 7)];
    const said = say(`so ${name} it is`);
    return reply(...pause(), ...(chosen === undefined ? [said] : [said, chosen]), ...pause());
  }
}

type WalkOptions = { place: Place; server: ModelServer; random: () => number; script: RandomScript };

class KillWalk {
  kills = 0;
  readonly #options: WalkOptions;
  readonly #record = new ChatRecord();
  readonly #log: ChatLog;
  /** The one to resume, unless it has been resumed in vain. */
  #session: string | undefined;
  readonly #sessions = new Set<string>();
  /** Those that a clear began in a process that was killed before it could say so. Replies may wait there. */
  readonly #unvisited = new Set<string>();
  #chat: ChatProcess | undefined;
  #processes = 0;
  /** Called with each line and each request. */
  #moment: (kind: ToldLine["type"] | "request") => void = () => {};

  constructor(options: WalkOptions) {
    this.#options = options;
    this.#log = new ChatLog(options.place);
  }

  get problems(): readonly string[] {
    return [...this.#record.problems, ...this.#log.problems];
  }

  get told(): number {
    return this.#record.ids.filter((id) => this.#record.reply(id) !== undefined).length;
  }

  answer(request: ModelRequestSeen): Entry {
    const isSummary = request.lines.at(-1)?.text.includes("summar") === true;
    // One that is read late may be of a process that was killed.
    const isCurrent = request.path.startsWith(`/${this.#processes}/`);
    if (!isSummary && isCurrent && this.#chat !== undefined) this.#log.checkRequest(request, this.#chat.pid);
    this.#moment("request");
    return this.#options.script.answer(request);
  }

  /** One process: random submissions, until the moment of its end. */
  async runUntilKilled(): Promise<void> {
    const { random } = this.#options;
    const [type, nth] = [moments[Math.floor(random() * moments.length)], 1 + Math.floor(random() ** 2 * 6)];
    const lateMs = random() < 0.5 ? 0 : random() ** 2 * 4;
    let left = nth;
    await using chat = await this.#start();
    this.#moment = (kind) => {
      if (kind !== type || --left !== 0) return;
      const since = performance.now();
      while (performance.now() - since < lateMs);
      chat.kill();
    };
    for (let steps = 2 + Math.floor(random() * 14); steps > 0; steps--) {
      if (random() < 0.6) await Bun.sleep(Math.floor(random() * 12));
      chat.submit(this.#next());
    }
    if (random() < 0.1) chat.close();
    await Promise.race([chat.over, Bun.sleep(random() * 60)]);
    chat.kill();
    await this.#ended(chat);
  }

  /** Processes that are not killed, until the fate of all submissions is known. */
  async finish(): Promise<void> {
    for (;;) {
      await this.#finishSession();
      const [next] = this.#unvisited;
      if (next === undefined) break;
      this.#unvisited.delete(next);
      this.#session = next;
    }
    this.#record.checkReplies();
    this.#record.checkPrompts(this.#log.prompts());
    for (const session of this.#sessions)
      for (const { id, state } of this.#log.left(session))
        // A process that was killed may have told a reply without noting so, and a session that was left stays so.
        if (state !== "replied" || this.#record.reply(id) === undefined)
          this.#record.problems.push(`${id} is left ${state}`);
  }

  async #finishSession(): Promise<void> {
    do {
      await using chat = await this.#start();
      const probe = this.#record.add({ op: "input", text: "probe" });
      chat.submit(probe);
      const { id } = JSON.parse(probe) as { id: string };
      await this.#over(chat, () => this.#record.reply(id) !== undefined);
      chat.close();
      await this.#over(chat);
      await this.#ended(chat);
    } while (this.#record.unknown.length > 0);
  }

  /** It is over, or this holds. */
  async #over(chat: ChatProcess, holds = () => chat.exit !== null): Promise<void> {
    const latest = () => `the end of the chat after ${JSON.stringify(chat.lines.slice(-5))}`;
    await Promise.race([chat.over, until(holds, latest)]);
  }

  async #start(): Promise<ChatProcess> {
    const { place, server, random } = this.#options;
    const resumed = this.#session === undefined ? [] : ["--resume", this.#session];
    this.#moment = () => {};
    const started = Promise.withResolvers<void>();
    const url = `${server.origin}/${++this.#processes}/v1`;
    const chat = new ChatProcess(place, [...using({ url }), "--mode", "auto", ...resumed], (line) => {
      if (line.type === "session.start" || line.type === "end") started.resolve();
      this.#see(line, chat);
    });
    this.#chat = chat;
    if (random() < 0.8) await started.promise;
    for (const id of this.#record.unknown) chat.submit(this.#record.again(id));
    return chat;
  }

  async #ended(chat: ChatProcess): Promise<void> {
    await chat.over;
    const { wasKilled } = chat;
    if (wasKilled) this.kills++;
    // A clear is also told in the session that it began.
    const isWhole = !wasKilled && this.#unvisited.size === 0;
    this.#record.end({ whole: isWhole });
    if (chat.exit === 10) {
      this.#checkGone(chat);
      this.#session = undefined;
      this.#record.startOver();
    } else if (isWhole) this.#record.checkReplies();
    const { project } = this.#options.place;
    await until(() => processesNaming(project).length === 0, "the end of all processes");
  }

  /** A session without a turn is gone when it ends. */
  #checkGone({ lines }: ChatProcess): void {
    const end = lines.at(-1);
    if (end?.type !== "end" || end.error?.code !== "session_not_found")
      this.#record.problems.push(`${this.#session} cannot be resumed: ${JSON.stringify(end)}`);
    if (this.#session !== undefined && this.#log.has(this.#session))
      this.#record.problems.push(`${this.#session} is there and was not found`);
  }

  #see(line: ToldLine, chat: ChatProcess): void {
    const { random } = this.#options;
    this.#record.see(line);
    if (line.type === "session.start") this.#open(line.session);
    if (line.type === "reply") this.#follow(line);
    if (line.type === "approval.request") {
      const decision = (["once", "session", "deny", "abort"] as const)[Math.floor(random() * 4)];
      chat.submit(this.#record.add({ op: "approve", call: line.id, decision }));
    }
    this.#moment(line.type);
  }

  #open(session: string): void {
    this.#session = session;
    this.#sessions.add(session);
    this.#unvisited.delete(session);
  }

  /**
   * A process that was killed in a clear may not have told that it had begun another session. What has been submitted
   * since was submitted to the old one, which therefore goes on first.
   */
  #follow({ submission, result }: Extract<ToldLine, { type: "reply" }>): void {
    if (this.#record.opOf(submission) !== "clear" || !(result instanceof Object) || !("session" in result)) return;
    const session = String(result.session);
    if (this.#sessions.has(session)) return;
    this.#sessions.add(session);
    this.#unvisited.add(session);
  }

  #next(): string {
    const { random } = this.#options;
    const record = this.#record;
    const chance = random();
    if (chance < 0.46) return record.add({ op: "input", text: `input ${record.ids.length}` });
    if (chance < 0.54) return record.add({ op: "interrupt" });
    if (chance < 0.62) return record.add({ op: "settings", mode: random() < 0.5 ? "safe" : "auto" });
    if (chance < 0.67) return record.add({ op: "undo" });
    if (chance < 0.72) return record.add({ op: "compact" });
    if (chance < 0.79) return record.add({ op: "shell", command: "echo hi" });
    if (chance < 0.83) return record.add({ op: "mcp.refresh" });
    if (chance < 0.86) return record.add({ op: "clear" });
    if (chance < 0.88) return record.add({ op: "approve", call: "nowhere", decision: "once" });
    if (chance < 0.9) return record.add({ op: "tools.list" });
    if (chance < 0.92) return record.add({ op: "shutdown" });
    const known = record.repeatable;
    const one = known[Math.floor(random() * known.length)];
    return one === undefined ? "no submission" : record.again(one);
  }
}

/** A process is killed at one of these lines, or at a request to the model. */
const moments = [
  "request",
  "session.start",
  "accepted",
  "turn.start",
  "text.delta",
  "tool.start",
  "tool.end",
  "shell.end",
  "usage",
  "notice",
  "turn.end",
  "turn.end",
  "reply",
  "reply",
  "never",
] as const;
