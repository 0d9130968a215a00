import { KodaError } from "../errors.ts";
import type { Usage } from "../model/model.ts";
import { addUsage } from "../model/usage.ts";
import { visibleLine } from "../visible.ts";
import type { Database } from "./database.ts";
import type { ItemOf, LoggedItem } from "./item.ts";
import { readSessions, type SessionInfo } from "./log.ts";

/** A session to read, with those of its agents. */
export type SessionReading = {
  info: SessionInfo;
  /** With the tokens and the cost of its agents. */
  total: SessionInfo;
  shortId: string;
  items: Iterable<LoggedItem>;
  /** Its own, oldest first; the items of a fork may also name those of the session that it was forked from. */
  agents: readonly SessionInfo[];
  /** The session of an agent without the items that it shares with its parent; undefined when it was removed. */
  agent(id: string): SessionReading | undefined;
};

/** The agents of a session, oldest first. */
export function readAgents(db: Database, { id, root }: Pick<SessionInfo, "id" | "root">): SessionInfo[] {
  const own = "agent IS NOT NULL AND root = ? AND parent = ?";
  return readSessions(db, `${own} ORDER BY id`, [root, id]);
}

/** Sessions with the tokens and the cost of their agents. */
export function withAgents(db: Database, sessions: readonly SessionInfo[]): SessionInfo[] {
  const isThere = db.get("SELECT 1 FROM session WHERE agent IS NOT NULL LIMIT 1") !== undefined;
  if (!isThere) return [...sessions];
  const rows = db.all<AgentFigures>(
    `SELECT session.parent, sum(input) AS input, sum(cached) AS cached, sum(written) AS written, sum(output) AS output,
         sum(reasoning) AS reasoning, CASE WHEN count(cost) = count(*) THEN sum(cost) END AS costUsd
       FROM json_each(?) AS asked
         JOIN session ON session.root = asked.value ->> 1 AND session.parent = asked.value ->> 0
       WHERE agent IS NOT NULL GROUP BY session.parent`,
    [JSON.stringify(sessions.map(({ id, root }) => [id, root]))],
  );
  const figures = new Map(rows.map((row) => [row.parent, row]));
  return sessions.map((info) => withFigures(info, figures.get(info.id)));
}

type AgentFigures = Omit<Usage, "written"> & { parent: string; written: number | null; costUsd: number | null };

function withFigures(info: SessionInfo, agents: AgentFigures | undefined): SessionInfo {
  if (agents === undefined) return info;
  const { input, cached, written, output, reasoning, costUsd } = agents;
  const usage = { input, cached, ...(written !== null && { written }), output, reasoning };
  return { ...info, usage: addUsage(info.usage, usage), costUsd: addCosts(info.costUsd, costUsd) };
}

function addCosts(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : Math.round((a + b) * 1e9) / 1e9;
}

/** An agent in a document; its session is undefined when it was removed. */
export type WrittenAgent = { id: string; session: SessionReading | undefined };

/** The places of agents in a document: each is written once. */
export class AgentPlaces {
  readonly #session: SessionReading;
  readonly #written = new Set<string>();

  constructor(session: SessionReading) {
    this.#session = session;
  }

  /** The agent that is written behind this item, which is the first to name it. */
  behind(item: LoggedItem | ItemOf<"result"> | undefined): WrittenAgent[] {
    const id = item?.kind === "result" || item?.kind === "note" ? item.agent : undefined;
    return id === undefined || this.#written.has(id) ? [] : [this.#write(id)];
  }

  /** Those that no item names, because the run was killed. */
  rest(): WrittenAgent[] {
    return this.#session.agents.filter(({ id }) => !this.#written.has(id)).map(({ id }) => this.#write(id));
  }

  #write(id: string): WrittenAgent {
    this.#written.add(id);
    return { id, session: this.#session.agent(id) };
  }
}

/** The items of a session, and each agent in its place. */
export function* itemsAndAgents(session: SessionReading): Generator<LoggedItem | (WrittenAgent & { kind: "agent" })> {
  const places = new AgentPlaces(session);
  for (const item of session.items) {
    yield item;
    for (const agent of places.behind(item)) yield { kind: "agent", ...agent };
  }
  for (const agent of places.rest()) yield { kind: "agent", ...agent };
}

/** The agent's name, and a prefix of its id that commands take. */
export function agentLabel({ id, session }: WrittenAgent): string {
  return session === undefined ? `${id}: no session of it is left` : `${session.info.agent ?? ""} (${session.shortId})`;
}

/** Throws `usage`, with this advice, for the session of an agent: it goes on only with its parent. */
export function assertUsers({ id, agent, parent = "" }: SessionInfo, advice: (parent: string) => string): void {
  if (agent === undefined) return;
  throw new KodaError(
    "usage",
    `Session "${id}" is that of agent "${visibleLine(agent)}" of session "${parent}": ${advice(parent)}`,
  );
}
