import { expect, test } from "bun:test";
import { lineSchema } from "../../lib/engine/event.ts";
import { openStore } from "../../lib/session/store.ts";
import { forgottenAgents, problemsOf } from "../support/agentcheck.ts";
import { AgentScript, parentName, Pipes, placeForAgents } from "../support/agentscript.ts";
import { checkLines, exec, type Line, start, using } from "../support/koda.ts";
import { call, hang, reply, say } from "../support/model-reply.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { databaseIn } from "../support/opened.ts";
import type { Place } from "../support/place.ts";
import { seeded } from "../support/random.ts";
import { finished, type Ran, type Running } from "../support/run.ts";
import { processesNaming } from "../support/shell.ts";
import { until } from "../support/until.ts";

/** KODA_SEQUENCES=200 tries more of them, and KODA_SEED begins with another one. */
const count = Number(process.env.KODA_SEQUENCES ?? 12);
const firstSeed = Number(process.env.KODA_SEED ?? 1);

/** The event that ends a run, at one of its first six requests (`at`); in one the model is silent from then on. */
const ways = [
  "SIGINT",
  "SIGTERM",
  "SIGKILL",
  "SIGKILL",
  "--max-turns",
  "--max-tokens",
  "--timeout",
  "nothing",
] as const;

for (let seed = firstSeed; seed < firstSeed + count; seed++) {
  const way = ways[seed % ways.length] ?? "nothing";
  test.concurrent(
    `a run with agents has nothing left after ${way}: schedule ${seed}`,
    async () => expect(await play(seed, way)).toEqual([]),
    120_000,
  );
}

async function play(seed: number, way: (typeof ways)[number]): Promise<string[]> {
  await using place = placeForAgents();
  using pipes = new Pipes(place.project);
  const random = seeded(seed * 13);
  const at = 2 + Math.floor(random() * 9);
  const script = new AgentScript(seed);
  await using server = await startModelServer((request, index) => {
    if (way === "--timeout" && index >= at) return hang();
    if (index === at && isSignal(way)) child.kill(way);
    const answer = script.answer(request);
    for (const name of answer.holds) pipes.write(name);
    return answer.entry;
  });
  const flags = { "--max-turns": [way, `${at}`], "--max-tokens": [way, `${at * 1000}`], "--timeout": [way, "4s"] };
  const limits = isSignal(way) || way === "nothing" ? [] : flags[way];
  const child: Running = start(place, ["exec", "--output", "jsonl", ...using(server), ...limits, `${parentName}: go`]);
  const ran = await finished(child);
  const { answers } = script;
  const problems = way === "SIGKILL" && ran.signal !== null ? await afterKill(place) : told(ran, place, script);
  const requests = answers.filter(({ kind }) => kind !== "lost").length;
  if (way === "--max-turns" && requests > at) problems.push(`${requests} requests of ${at}`);
  return [...problems, ...server.problems, ...(await resume(place, sessionOf(ran)))];
}

function isSignal(way: (typeof ways)[number]): way is "SIGINT" | "SIGTERM" | "SIGKILL" {
  return way.startsWith("SIG");
}

function sessionOf({ stdout }: Ran): string {
  const first: Line = lineSchema.parse(JSON.parse(stdout.slice(0, stdout.indexOf("\n"))));
  if (first.type !== "session.start") throw new Error("The first line is not the start");
  return first.session;
}

function told(ran: Ran, { project, ...place }: Place, { answers }: AgentScript): string[] {
  const { events, end } = checkLines(ran);
  const { usage, tools, agents, status, exit, session } = end;
  const totals = { usage, tools, agents };
  const wasStopped = status === "cancelled" || exit === 124;
  const database = databaseIn(place);
  const isComplete = status === "done";
  return problemsOf({ project, database, events, answers, totals, session: session ?? "", isComplete, wasStopped });
}

/** The commands end with the sandbox, and every session of the family can be taken at once. */
async function afterKill(place: Place): Promise<string[]> {
  await until(() => processesNaming(place.project).length === 0);
  const store = openStore(databaseIn(place));
  for (const { id } of store.list({ children: true })) (await store.open(id)).close();
  store.close();
  return [];
}

/** The session goes on, with nothing in its way. */
async function resume(place: Place, session: string): Promise<string[]> {
  const steps = [
    reply(call("Write", { path: "late.txt", content: "late\n" }), call("Bash", { command: "echo >> late.txt" })),
    say("Resumed."),
  ];
  await using server: ModelServer = await startModelServer(steps);
  const { end } = await exec(place, server, ["--resume", session, `${parentName}: go on`]);
  const isDone = end.status === "done" && end.tools.ok === 2;
  const database = databaseIn(place);
  return [
    ...(isDone ? [] : [`resumed: ${JSON.stringify(end)}`]),
    ...server.problems,
    ...forgottenAgents({ database, session }),
  ];
}
