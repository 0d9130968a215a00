/**
 * Eight conversations in one process, whose turns overlap and which are closed in an order that a seed decides, once for
 * each seed: FIRST-SEED COUNT DATABASE-A DATABASE-B. Prints what is wrong, and what each conversation committed.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Conversation } from "../../lib/conversation/conversation.ts";
import { Host } from "../../lib/conversation/host.ts";
import type { Event } from "../../lib/engine/event.ts";
import { Reaper } from "../../lib/shell/reaper.ts";
import { called, converseIn, prompt, said, scripted } from "./conversation.ts";
import { makePlace, type Place } from "./place.ts";
import { seeded } from "./random.ts";

export type CrowdReport = {
  problems: string[];
  sessions: { database: string; session: string; token: string; items: number }[];
};

const [first = "1", count = "1", ...databases] = process.argv.slice(2);
const report: CrowdReport = { problems: [], sessions: [] };
let random = seeded(0);
let crowd: readonly Member[] = [];
const reaper = new Reaper();
for (let seed = Number(first); seed < Number(first) + Number(count); seed++) {
  random = seeded(seed);
  await using host = new Host({ stop: new AbortController(), cassette: { loose: false }, reaper });
  crowd = await Promise.all(Array.from({ length: 8 }, async (_, number) => await open(host, number)));
  await Promise.all(crowd.map(async (member) => live(member, host.signal)));
  for (const { place } of crowd) await place[Symbol.asyncDispose]();
}
console.log(JSON.stringify(report));

type Member = {
  number: number;
  token: string;
  place: Place;
  conversation: Conversation;
  database: string;
  /** Processes that outlive their command, by their files in the project. */
  survivors: readonly string[];
  isClosed: boolean;
};

async function open(host: Host, number: number): Promise<Member> {
  const token = `member${number}x`;
  const place = makePlace();
  const database = databases[number % databases.length] ?? ":memory:";
  // Without a sandbox processes survive their command.
  const sandboxed = number % 2 === 0;
  const hostOf = (name: string) => `${name}.${token}.example`;
  const model = scripted(
    called(
      ["Bash", { command: sandboxed ? "sleep 1000" : stray("background"), background: true }, `${token}-task`],
      ...fetches("one"),
    ),
    called([
      "Bash",
      { command: `${sandboxed ? "" : `${stray("stray")};`} printf %s ${token} > ${token}.txt` },
      `${token}-write`,
    ]),
    said(`first of ${token}`),
    called(
      ["Bash", { command: `curl -s http://${hostOf("curl")}/ ; cat ${token}.txt` }, `${token}-curl`],
      ["TaskList", {}, `${token}-list`],
      ...fetches("two"),
    ),
    said(`second of ${token}`),
  );
  const conversation = await converseIn(host, place, model, {
    database,
    sandboxed,
    provider: token,
    overrides: {
      mode: { value: number === 7 ? "safe" : "auto", flag: "--mode" },
      "egress.allow": { value: [hostOf("allowed")], flag: "--allow-net" },
    },
  });
  const survivors = sandboxed || number === 7 ? [] : ["background.pid", "stray.pid"];
  return { number, token, place, conversation, database, survivors, isClosed: false };

  function fetches(turn: string) {
    return Array.from(
      { length: 8 },
      (_, each) => ["WebFetch", { url: `http://${hostOf(`${turn}${each}`)}/` }, `${token}-${turn}${each}`] as const,
    );
  }
}

/** Leaves the command's group and drops its environment. */
function stray(name: string): string {
  return `env -i setsid sh -c 'sh -c "echo \\$\\$ > ${name}.pid; exec sleep 1000" >/dev/null 2>&1 &' & while [ ! -s ${name}.pid ]; do sleep 0.01; done${name === "background" ? "; sleep 1000" : ""}`;
}

async function live(member: Member, signal: AbortSignal): Promise<void> {
  const { conversation, token, database } = member;
  const events: Event[] = [];
  for (let turn = 0; turn < 2; turn++) {
    await pause();
    for await (const event of conversation.run({ prompt }, signal)) {
      events.push(event);
      if (random() < 0.2) await pause();
    }
  }
  check(member, events);
  await pause();
  const survivors = processesOf(member);
  const { session } = conversation.parts;
  report.sessions.push({ database, session: session.id, token, items: session.items().length });
  member.isClosed = true;
  await conversation[Symbol.asyncDispose]();
  for (const pid of survivors) if (isAlive(pid)) complain(member, `process ${pid} outlived it`);
  for (const other of crowd) {
    const gone = processesOf(other).filter((pid) => !isAlive(pid));
    if (gone.length > 0 && !other.isClosed) complain(other, `lost ${gone.join()} to ${token}`);
  }
}

function check(member: Member, events: readonly Event[]): void {
  const { token, number } = member;
  for (const event of events) {
    const others =
      JSON.stringify(event)
        .match(/member\d+x/g)
        ?.filter((found) => found !== token) ?? [];
    if (others.length > 0) complain(member, `saw ${others.join()} in ${event.type}`);
    if (event.type !== "egress") continue;
    const [name = ""] = event.host.split(".");
    if (event.tool !== `${token}-${name}`) complain(member, `${event.host} belongs to ${event.tool}`);
  }
  const count = (type: Event["type"]) => events.filter((event) => event.type === type).length;
  if (count("turn.end") !== 2 || count("diff") < (number === 7 ? 0 : 1)) complain(member, "lost an event");
  const list = events.find((event) => event.type === "tool.end" && event.id === `${token}-list`);
  const summary = list?.type === "tool.end" ? list.summary : "";
  if (number !== 7 && !/^t1 [^\n]*$/.test(summary)) complain(member, `has the tasks ${summary}`);
  const hosts = new Set(events.flatMap((event) => (event.type === "egress" ? [event.host] : [])));
  const expected = number === 7 ? 0 : number % 2 === 0 ? 17 : 16;
  if (hosts.size !== expected) complain(member, `tried ${hosts.size} hosts, not ${expected}`);
}

function processesOf({ place, survivors }: Member): number[] {
  return survivors.flatMap((name) => {
    const file = join(place.project, name);
    const pid = existsSync(file) ? Number(readFileSync(file, "utf8")) : 0;
    return pid > 0 ? [pid] : [];
  });
}

function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

function complain({ token }: Member, problem: string): void {
  report.problems.push(`${token}: ${problem}`);
}

async function pause(): Promise<void> {
  for (let turns = Math.floor(random() * 20); turns > 0; turns--) await new Promise((turn) => setImmediate(turn));
}
