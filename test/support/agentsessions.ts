import { join } from "node:path";
import type { Session } from "../../lib/session/session.ts";
import { openStore, type Store } from "../../lib/session/store.ts";
import type { Place } from "./place.ts";
import { call, reply, result, start, user } from "./sessions.ts";

export type AgentIds = { parent: string; explore: string; fork: string; review: string };

export function databaseIn(place: Pick<Place, "home">): string {
  return join(place.home, ".local/share/koda/koda.db");
}

/**
 * Records the session "parent" of a project with three agents, each with one reply for 15 tokens and $0.25: one that a
 * result names, a fork that a result and a note name, and one whose run was killed, which nothing names.
 */
export function recordAgents(place: Pick<Place, "home" | "project">): AgentIds {
  const store = openStore(databaseIn(place));
  const there = { ...start, cwd: place.project };
  const parent = store.create({ ...there, id: "parent" });
  parent.beginTurn();
  const calls = ["c1", "c2"].map((id) => call(id, "InvokeAgent", { prompt: id }));
  parent.append(user("Fix the parser"), paid("I ask around.", ...calls));

  const explore = worked(
    store.startAgent(parent.info, { id: Bun.randomUUIDv7(), ...there, agent: "explore" }),
    "Where is it?",
    "In lib/walrus.",
  );
  const fork = worked(
    store.forkAgent(parent.info, { id: Bun.randomUUIDv7(), agent: "fork" }),
    "Write the test",
    "It is written.",
  );
  parent.append({ ...result("c1", "In lib/walrus.", "InvokeAgent"), agent: explore });
  parent.append({ ...result("c2", "Started.", "InvokeAgent"), agent: fork });
  parent.append({ kind: "note", text: "It is written.", agent: fork });
  const review = cutOff(
    store.startAgent(parent.info, { id: Bun.randomUUIDv7(), ...there, agent: "review" }),
    "Review it",
  );
  parent.append(paid("All done."));
  parent.endTurn("complete");
  parent.close();
  store.close();
  return { parent: "parent", explore, fork, review };
}

function worked(session: Session, prompt: string, answer: string): string {
  session.beginTurn();
  session.append(user(prompt), paid(answer));
  session.endTurn("complete");
  session.close();
  return session.id;
}

function cutOff(session: Session, prompt: string): string {
  session.beginTurn();
  session.append(user(prompt), paid("I read."));
  session.close();
  return session.id;
}

function paid(...given: Parameters<typeof reply>): ReturnType<typeof reply> {
  return { ...reply(...given), costUsd: 0.25 };
}

/** The ids of all sessions in the database. */
export function idsIn(place: Pick<Place, "home">): string[] {
  const store: Store = openStore(databaseIn(place));
  const ids = store.list({ children: true }).map(({ id }) => id);
  store.close();
  return ids.sort();
}
