import { Database } from "bun:sqlite";
import type { Totals } from "../../lib/engine/end.ts";
import type { AgentEvent, Event } from "../../lib/engine/event.ts";
import { exitByCode } from "../../lib/errors.ts";
import { textOfParts } from "../../lib/session/content.ts";
import type { LoggedItem } from "../../lib/session/item.ts";
import { openStore } from "../../lib/session/store.ts";
import { taskSendName } from "../../lib/tools/agentcalls.ts";
import { type Answer, parentName } from "./agentscript.ts";
import { processesNaming } from "./shell.ts";

/** A run that is over, as its reader and the provider saw it. */
export type Ran = {
  project: string;
  database: string;
  events: readonly Event[];
  answers: readonly Answer[];
  totals: Pick<Totals, "usage" | "tools"> & { agents?: Totals["agents"] | undefined };
  session: string;
  /** The parent's last turn came to its own end: so did all that it had to wait for. */
  isComplete: boolean;
  /** A turn of the parent's was stopped, with its request. */
  wasStopped: boolean;
};

type AgentRun = { id: string; events: readonly AgentEvent[]; session: string; who: string; status: Status };
type Status = "ok" | "failed" | "cancelled";

/** What is wrong with a run. */
export function problemsOf(ran: Ran): string[] {
  const problems: string[] = [];
  const agents = agentsOf(ran, problems);
  checkCounts(ran, agents, problems);
  checkUsage(ran, agents, problems);
  checkResults(ran, agents, problems);
  checkMessages(ran, agents, problems);
  checkTraces(ran, agents, problems);
  return problems;
}

/** Each agent begins with its start and ends with its only end. One that could not begin has only that. */
function agentsOf({ events }: Ran, problems: string[]): AgentRun[] {
  const wrapped = events.flatMap((event) => (event.type === "agent" ? [event] : []));
  return [...Map.groupBy(wrapped, ({ agent }) => agent.id)].map(([id, all]) => {
    const own = all.map(({ event }) => event);
    const count = (type: AgentEvent["type"]) => own.filter((event) => event.type === type).length;
    const [first, last] = [own[0], own.at(-1)];
    const hasBegun = own.length > 1;
    if (hasBegun && (first?.type !== "session.start" || count("session.start") !== 1))
      problems.push(`${id} has not one start, at first`);
    if (last?.type !== "end" || count("end") !== 1) problems.push(`${id} has not one end, at last`);
    if (count("turn.start") !== count("turn.end")) problems.push(`${id} has turns without their end`);
    const session = first?.type === "session.start" ? first.session : "";
    const who = /AGENT-\d+/.exec(first?.type === "session.start" ? first.title : "")?.[0] ?? "";
    return { id, events: own, session, who, status: statusOf(last) };
  });
}

function statusOf(end: AgentEvent | undefined): Status {
  if (end?.type !== "end" || end.status === "cancelled") return "cancelled";
  if (end.status === "done") return "ok";
  const { code } = end.error ?? {};
  return code !== undefined && exitByCode[code] === exitByCode.timeout ? "cancelled" : "failed";
}

function checkCounts({ totals, events }: Ran, agents: readonly AgentRun[], problems: string[]): void {
  const ends = (status: Status) => agents.filter((agent) => agent.status === status).length;
  const seen = { ok: ends("ok"), failed: ends("failed"), cancelled: ends("cancelled") };
  const told = totals.agents ?? { ok: 0, failed: 0, cancelled: 0 };
  if (!Bun.deepEquals(told, seen))
    problems.push(`agents ${JSON.stringify(told)}, by their ends ${JSON.stringify(seen)}`);
  const calls = inside(events).flatMap((event) => (event.type === "tool.end" ? [event] : []));
  const counted = {
    ok: calls.filter(({ ok }) => ok).length,
    failed: calls.filter(({ ok, denied }) => !ok && denied === undefined).length,
    denied: calls.filter(({ denied }) => denied !== undefined).length,
  };
  if (!Bun.deepEquals({ ...totals.tools }, counted))
    problems.push(`tools ${JSON.stringify(totals.tools)}, by their events ${JSON.stringify(counted)}`);
}

/** Those of agents without what wraps them. */
function inside(events: readonly Event[]): (Event | AgentEvent)[] {
  return events.map((event) => (event.type === "agent" ? event.event : event));
}

/** Every reply of the provider is counted once, but the one during which a conversation was stopped. */
function checkUsage(
  { events, answers, totals, wasStopped }: Ran,
  agents: readonly AgentRun[],
  problems: string[],
): void {
  const told = inside(events).flatMap((event) =>
    event.type === "usage" && event.request.input !== null ? [event.request] : [],
  );
  const sum = (of: "input" | "output") => told.reduce((all, figures) => all + (figures[of] ?? 0), 0);
  const { input, output } = totals.usage;
  if ((input ?? 0) !== sum("input") || (output ?? 0) !== sum("output"))
    problems.push(`usage ${input}+${output}, by its events ${sum("input")}+${sum("output")}`);
  const numbers = told.map(({ output: number }) => number ?? 0);
  if (new Set(numbers).size !== numbers.length) problems.push("a reply was counted twice");
  const stopped = new Set(agents.filter(({ status }) => status === "cancelled").map(({ who }) => who));
  if (wasStopped) stopped.add(parentName);
  for (const { who, kind, usage } of answers)
    if (kind === "reply" && !numbers.includes(usage.output) && !stopped.has(who))
      problems.push(`the reply ${usage.output} to ${who} was not counted`);
    else if (kind !== "reply" && numbers.includes(usage.output))
      problems.push(`${usage.output} to ${who} was no reply and was counted`);
}

/** The result of each agent came once without being asked for, or only when it was asked for. */
function checkResults(ran: Ran, agents: readonly AgentRun[], problems: string[]): void {
  const { database, session, isComplete } = ran;
  const store = openStore(database);
  const items = store.items(session);
  const results = items.filter(isResult);
  store.close();
  for (const { id, session: known, status } of agents) {
    const started = items.find((item) => item.kind === "result" && item.background === id);
    const own = known === "" && started?.kind === "result" ? started.agent : known;
    if (own === "") continue;
    const came = results.flatMap((item) => (item.agent === own ? [item.kind] : []));
    const isRepeated = came.lastIndexOf("note") > 0;
    const isLost = came.length === 0 && isComplete;
    if (isRepeated || isLost)
      problems.push(`the result of ${id} (${status}) came ${came.length} times: ${came.join()}`);
  }
}

/** A message that an agent took is in its log, when it came to its own end. */
function checkMessages({ database, events }: Ran, agents: readonly AgentRun[], problems: string[]): void {
  const store = openStore(database);
  const taken = new Set(
    events.flatMap((event) => (event.type === "tool.end" && event.tool === taskSendName && event.ok ? [event.id] : [])),
  );
  for (const event of events) {
    if (event.type !== "tool.start" || !taken.has(event.id)) continue;
    const { id, message } = event.input as { id: string; message: string };
    const agent = agents.find((one) => one.id === id);
    if (agent?.status !== "ok") continue;
    const isRead = store
      .items(agent.session)
      .some((item) => item.kind === "user" && textOfParts(item.parts) === message);
    if (!isRead) problems.push(`${id} has not read "${message}"`);
  }
  store.close();
}

type Delivery = Extract<LoggedItem, { kind: "result" | "note" }>;

/** A call that starts an agent in the background brings no result of it. */
function isResult(item: LoggedItem): item is Delivery {
  if (item.kind === "note") return item.agent !== undefined;
  return item.kind === "result" && item.agent !== undefined && item.background === undefined;
}

/** The agents of which a session that was resumed has not been told what became of them. */
export function forgottenAgents({ database, session }: Pick<Ran, "database" | "session">): string[] {
  const store = openStore(database);
  const items = store.items(session);
  store.close();
  const told = new Set(items.filter(isResult).map(({ agent }) => agent));
  return items.flatMap((item) =>
    item.kind === "result" && item.background !== undefined && !told.has(item.agent)
      ? [`nothing was told of ${item.background}`]
      : [],
  );
}

/** Nothing of the run is left, and the log of each agent is complete. */
function checkTraces({ project, database }: Ran, agents: readonly AgentRun[], problems: string[]): void {
  const left = processesNaming(project);
  if (left.length > 0) problems.push(`the processes ${left.join()} are left`);
  using db = new Database(database, { readonly: true });
  const leases = db.query("SELECT session FROM lease").all();
  if (leases.length > 0) problems.push(`${leases.length} leases are left`);
  const store = openStore(database);
  for (const { id, session, events } of agents) {
    if (!events.some(({ type }) => type === "turn.start")) continue;
    const last = store.items(session).at(-1);
    if (last?.kind !== "turn_end") problems.push(`the log of ${id} ends with ${last?.kind}`);
  }
  store.close();
}
