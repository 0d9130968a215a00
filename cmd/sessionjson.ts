import { itemsAndAgents, type SessionReading } from "../lib/session/agents.ts";
import { itemJson, sessionJson } from "../lib/session/json.ts";

/** A session with its items, and its agents as sessions of their own, piece by piece. */
export function* jsonOfSession(session: SessionReading, indent = ""): Generator<string, void> {
  const inner = `${indent}  `;
  const agents: SessionReading[] = [];
  yield `{\n${inner}"session": ${indented(sessionJson(session.total), inner)},\n${inner}"items": `;
  yield* jsonArray(itemsBeside(agents, session), inner);
  yield `,\n${inner}"children": `;
  yield* jsonArray(agents, inner, jsonOfSession);
  yield `\n${indent}}`;
}

/** Puts the agents aside. */
function* itemsBeside(agents: SessionReading[], session: SessionReading): Generator<unknown, void> {
  for (const item of itemsAndAgents(session)) {
    if (item.kind !== "agent") yield itemJson(item);
    else if (item.session !== undefined) agents.push(item.session);
  }
}

/** As `asJson` writes an array, but piece by piece. */
export function* jsonArray<T>(
  values: Iterable<T>,
  indent: string,
  write: (value: T, indent: string) => Iterable<string> = (value, inner) => [indented(value, inner)],
): Generator<string, void> {
  const inner = `${indent}  `;
  let before = "[";
  for (const value of values) {
    yield `${before}\n${inner}`;
    yield* write(value, inner);
    before = ",";
  }
  yield before === "[" ? "[]" : `\n${indent}]`;
}

function indented(value: unknown, indent: string): string {
  return JSON.stringify(value, undefined, 2).replaceAll("\n", `\n${indent}`);
}
