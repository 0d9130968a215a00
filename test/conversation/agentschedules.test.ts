import { expect, test } from "bun:test";
import { openStore } from "../../lib/session/store.ts";
import { forgottenAgents, problemsOf } from "../support/agentcheck.ts";
import { AgentSchedule } from "../support/agentschedule.ts";
import { AgentScript, parentName, placeForAgents } from "../support/agentscript.ts";
import { call, reply, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { databaseIn, openWith } from "../support/opened.ts";
import type { Place } from "../support/place.ts";
import { seeded } from "../support/random.ts";

/** KODA_SEQUENCES=2000 tries more of them, and KODA_SEED begins with another one. */
const count = Number(process.env.KODA_SEQUENCES ?? 20);
const firstSeed = Number(process.env.KODA_SEED ?? 1);
const perTest = 25;
const atOnce = 5;

const seeds = Array.from({ length: Math.ceil(count / perTest) }, (_, index) => firstSeed + index * perTest);

test.each(seeds)(
  "agents are counted, told and closed exactly once, whatever happens when: schedules from %i on",
  async (first) => {
    const last = Math.min(first + perTest, firstSeed + count);
    for (let seed = first; seed < last; seed += atOnce) {
      const some = Array.from({ length: Math.min(atOnce, last - seed) }, (_, index) => seed + index);
      const found = await Promise.all(
        some.map(async (one) => (await play(one)).map((problem) => ({ seed: one, problem }))),
      );
      expect(found.flat(), "KODA_SEED=… KODA_SEQUENCES=1 plays one of them").toEqual([]);
    }
  },
  600_000,
);

async function play(seed: number): Promise<string[]> {
  await using place = placeForAgents();
  const random = seeded(seed * 7);
  const script = new AgentScript(seed);
  using schedule: AgentSchedule = new AgentSchedule({
    conversation: () => opened.conversation,
    project: place.project,
    random,
    answer: (request) => script.answer(request),
  });
  await using server = await startModelServer((request) => schedule.answer(request));
  schedule.maxTurns = random() < 0.3 ? 3 + Math.floor(random() * 12) : Infinity;
  const { maxTurns } = schedule;
  const overrides = Number.isFinite(maxTurns) && {
    "limits.max_turns": { value: maxTurns, flag: "--max-turns" as const },
  };
  const opened = await openWith(place, server, { ...(overrides && { overrides }) });
  const { conversation, host } = opened;
  const wait = () => conversation.inbox.expect(() => conversation.agents.background.next());
  if (random() < 0.5) wait();

  const turns = 1 + Math.floor(random() * 3);
  let isStopped = false;
  for (let turn = 1; turn <= turns && !isStopped; turn++) {
    isStopped = !(await schedule.turn(`turn ${turn}`, { mayStop: random() < 0.2, mayInterrupt: true }));
    if (!isStopped) await schedule.idle();
  }
  if (!isStopped && random() < 0.7) {
    wait();
    schedule.open();
    await schedule.turn("the last turn", { mayStop: false, mayInterrupt: false });
  } else isStopped = true;
  await schedule.close(host[Symbol.asyncDispose]());

  const { totals, parts } = conversation;
  const session = parts.session.id;
  const isComplete = !isStopped && schedule.outcomes.at(-1)?.status === "done";
  const wasStopped = isStopped || schedule.outcomes.some(({ status }) => status === "cancelled");
  const { project } = place;
  const { events } = schedule;
  const { answers } = script;
  const ran = { project, database: databaseIn(place), events, answers, totals, session, isComplete, wasStopped };
  const problems = [...schedule.problems, ...server.problems, ...problemsOf(ran)];
  if (parts.ledger.requests > schedule.maxTurns) problems.push(`${parts.ledger.requests} requests`);
  if (seed % 4 === 0) problems.push(...(await resume(place, session)));
  return problems;
}

/** The session goes on, with nothing in its way. */
async function resume(place: Place, session: string): Promise<string[]> {
  const database = databaseIn(place);
  const store = openStore(database);
  const isKept = store.named(session) !== undefined;
  store.close();
  if (!isKept) return [];
  const steps = [
    reply(call("Write", { path: "late.txt", content: "late\n" }), call("Bash", { command: "echo >> late.txt" })),
    say("Resumed."),
  ];
  await using server = await startModelServer(steps);
  const { host, conversation } = await openWith(place, server, { session: { kind: "resume", id: session } });
  await using _ = host;
  const prompt = [{ type: "text" as const, text: `${parentName}: go on` }];
  const running = conversation.run({ prompt }, host.signal);
  const problems: string[] = [];
  while (true) {
    const { done, value } = await running.next();
    if (done === true) {
      if (value.status !== "done") problems.push(`resumed: ${value.error.message}`);
      return [...problems, ...server.problems, ...forgottenAgents({ database, session })];
    }
    if (value.type === "tool.end" && !value.ok) problems.push(`resumed: ${value.summary}`);
  }
}
