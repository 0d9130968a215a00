import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { invokeAgentName, taskSendName } from "../../lib/tools/agentcalls.ts";
import { call, cut, type Entry, problem, reply, say, withHeaders } from "./model-reply.ts";
import type { Part } from "./model-frame.ts";
import type { ModelRequestSeen } from "./model-server.ts";
import { makePlace, type Place } from "./place.ts";
import { seeded } from "./random.ts";

/** An answer of the scripted model, with what the checks have to know of it. */
export type Answer = {
  /** `PARENT`, or an agent as its prompt names it: `AGENT-3`. */
  readonly who: string;
  /** A lost one is asked for again; after a refused one nothing more is asked. */
  readonly kind: "reply" | "refused" | "lost";
  readonly usage: { input: number; output: number };
  /** The files that its calls write. */
  readonly writes: readonly string[];
  /** The pipes from which its commands wait for a line. */
  readonly holds: readonly string[];
  readonly entry: Entry;
};

export const mostAgents = 9;

/** A word of the parent's prompts. */
export const parentName = "PARENT";

/** The last prompt counts, so a fork has a name of its own. */
export function speakerOf({ lines }: Pick<ModelRequestSeen, "lines">): string {
  const named = lines.flatMap(({ role, text = "" }) =>
    role === "user" ? (/\b(PARENT|AGENT-\d+)\b/.exec(text) ?? []) : [],
  );
  return named.at(-1) ?? parentName;
}

/**
 * A parent and up to nine agents that do anything they can do, as a seed decides. Each conversation has random numbers
 * of its own, and no two answers have the same usage.
 */
export class AgentScript {
  readonly answers: Answer[] = [];
  /** The names of the agents in the order in which the model asked for them, with their kind. */
  readonly agents: { name: string; agent: string; background: boolean }[] = [];
  readonly #seed: number;
  readonly #most: number;
  readonly #speakers = new Map<string, Speaker>();
  #names = 0;

  constructor(seed: number) {
    this.#seed = seed;
    this.#most = 1 + Math.floor(seeded(seed)() * mostAgents);
  }

  answer(request: ModelRequestSeen): Answer {
    const who = speakerOf(request);
    const prompts = request.lines.filter(({ role }) => role === "user").length;
    const speaker = this.#speakers.get(who) ?? this.#speaker(who);
    this.#speakers.set(who, speaker);
    const usage = { input: 1000 + request.index, output: request.index + 1 };
    const answer = { who, usage, writes: [], holds: [], ...this.#say(speaker, { who, usage, prompts, request }) };
    this.answers.push(answer);
    return answer;
  }

  #speaker(who: string): Speaker {
    const number = who === parentName ? 0 : Number(who.slice(who.indexOf("-") + 1));
    const random = seeded(this.#seed * 100 + number);
    return { random, left: Math.floor(random() * 5), prompts: 0 };
  }

  #say(speaker: Speaker, { who, usage, prompts, request }: Asked): Pick<Answer, "kind" | "entry"> & Partial<Answer> {
    const { random } = speaker;
    const luck = random();
    if (who !== parentName && luck < 0.05) return { kind: "refused", entry: problem(400, "This is refused.") };
    if (luck < 0.1) return { kind: "lost", entry: withHeaders(problem(503, "Later."), { "retry-after-ms": "1" }) };
    // Another prompt begins the work anew.
    if (who === parentName && prompts > speaker.prompts) speaker.left = 1 + Math.floor(random() * 5);
    speaker.prompts = prompts;
    if (speaker.left-- <= 0 || request.tools.length === 0)
      return { kind: "reply", entry: reply(say(`answer of ${usage.output}`), { usage }) };
    const steps = who === parentName ? this.#stepsOfParent(random) : this.#stepsOfAgent(random);
    const entry = reply(...steps.map(({ part }) => part), { usage });
    if (luck < 0.12) return { kind: "lost", entry: cut(entry, { frames: 2 }) };
    const paths = (of: "writes" | "holds") => steps.flatMap((step) => step[of] ?? []);
    return { kind: "reply", entry, writes: paths("writes"), holds: paths("holds") };
  }

  #stepsOfParent(random: () => number): Step[] {
    const startsAll = random() < 0.2;
    const wanted = startsAll ? this.#most : 1 + Math.floor(random() * 3);
    const isStart = (index: number) => startsAll || (index === 0 && this.agents.length === 0);
    return Array.from({ length: wanted }, (_, index) =>
      isStart(index) ? this.#start(random) : this.#stepOfParent(random),
    );
  }

  #stepOfParent(random: () => number): Step {
    const id = `a${1 + Math.floor(random() * Math.max(this.agents.length, 1))}`;
    const unique = this.#names++;
    switch (Math.floor(random() * 9)) {
      case 0:
        return { part: call("TaskOutput", { id }) };
      case 1:
        return { part: call("TaskStop", { id }) };
      case 2:
        return { part: call(taskSendName, { id, message: `message ${unique}` }) };
      case 3:
        return { part: call("TaskList") };
      case 4:
        return this.#anyStep(random);
      default:
        return this.#start(random);
    }
  }

  #start(random: () => number): Step {
    if (this.agents.length >= this.#most) return this.#anyStep(random);
    const name = `AGENT-${this.agents.length + 1}`;
    const agent = pick(["explore", "task", "task", "short", "fork"], random);
    const background = random() < 0.55;
    this.agents.push({ name, agent, background });
    return {
      part: call(invokeAgentName, { agent, prompt: `${name}: look around`, ...(background && { background }) }),
    };
  }

  #stepsOfAgent(random: () => number): Step[] {
    return Array.from({ length: 1 + Math.floor(random() * 2) }, () => this.#anyStep(random));
  }

  #anyStep(random: () => number): Step {
    const unique = this.#names++;
    const path = `made-${unique}.txt`;
    switch (pick(kinds, random)) {
      case "missing":
        return { part: call("Read", { path: `missing-${unique}.txt` }) };
      case "fails":
        return { part: call("Bash", { command: `exit 3 # ${unique}` }) };
      case "waits": {
        const pipe = pipes[unique % pipes.length] ?? "";
        const trap = random() < 0.1 ? "trap '' TERM INT; " : "";
        return { part: call("Bash", { command: `${trap}read line < ${pipe} # ${unique}` }), holds: [pipe] };
      }
      case "sleeps":
        return { part: call("Bash", { command: `sleep 1000 # ${unique}`, background: true }) };
      case "unknown":
        return { part: call("Nothing", { unique }) };
      case "echoes":
        return { part: call("Bash", { command: `echo made > ${path}` }), writes: [path] };
      case "reads":
        return { part: call("Read", { path: "a.txt", start_line: 1 + unique }) };
      default:
        return { part: call("Write", { path, content: "made\n" }), writes: [path] };
    }
  }
}

/** The calls that any conversation makes, each as often as it is here. Commands take the most time. */
const kinds: readonly string[] = [
  ..."missing fails waits sleeps unknown echoes".split(" "),
  ...Array.from({ length: 6 }, () => "reads"),
  ...Array.from({ length: 8 }, () => "writes"),
];

/** A project with what the script uses, and an agent that reaches its limit soon. */
export function placeForAgents(): Place {
  const lines = Array.from({ length: 1000 }, (_, index) => `line ${index}\n`).join("");
  const place = makePlace({ "a.txt": lines });
  Bun.spawnSync(["mkfifo", ...pipes], { cwd: place.project });
  const directory = join(place.home, ".config/koda/agents");
  mkdirSync(directory, { recursive: true });
  writeFileSync(
    join(directory, "short.md"),
    "---\nname: short\ndescription: stops soon\nmax_turns: 2\n---\nBe short.\n",
  );
  return place;
}

const pipes: readonly string[] = Array.from({ length: 8 }, (_, index) => `pipe-${index}`);

/** Writes a line into a pipe, for a command that waits for it or that comes later. */
export class Pipes implements Disposable {
  readonly #project: string;
  readonly #open = new Map<string, number>();

  constructor(project: string) {
    this.#project = project;
  }

  write(name: string): void {
    const pipe = this.#open.get(name) ?? openSync(join(this.#project, name), "r+");
    this.#open.set(name, pipe);
    writeSync(pipe, "go\n");
  }

  [Symbol.dispose](): void {
    for (const pipe of this.#open.values()) closeSync(pipe);
  }
}

type Speaker = { random: () => number; left: number; prompts: number };
type Asked = { who: string; usage: Answer["usage"]; prompts: number; request: ModelRequestSeen };
type Step = { part: Part; writes?: readonly string[]; holds?: readonly string[] };

export function pick<T>(from: readonly T[], random: () => number): T {
  const picked = from[Math.floor(random() * from.length)];
  if (picked === undefined) throw new Error("There is nothing to pick from");
  return picked;
}
