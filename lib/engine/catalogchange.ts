import { unlessAborted } from "../async/unlessaborted.ts";
import type { Event } from "./event.ts";
import type { Turn } from "./turn.ts";

/** Tools come and go between two requests; the user and the model are told which. */
export async function* renewCatalog(
  { catalog, session, environment }: Turn,
  signal: AbortSignal,
): AsyncGenerator<Event, void> {
  const change = await unlessAborted(catalog.advance(), signal);
  if (change === undefined) return;
  const { added, removed, problem } = change;
  if (problem !== undefined) yield { type: "notice", level: "warn", code: "tools", message: problem };
  if (added.length + removed.length === 0) return;
  const message = [
    ...(added.length > 0 ? [`New tools can be used: ${firstOf(added)}`] : []),
    ...(removed.length > 0 ? [`Tools that cannot be used any more: ${firstOf(removed)}`] : []),
  ].join(". ");
  const changes = environment();
  session.append(...(changes === undefined ? [] : [changes]), { kind: "note", text: `[koda: ${message}]` });
  yield { type: "notice", level: "info", code: "tools", message };
}

/** A server may change hundreds of tools between any two requests, and each of these messages stays in the history. */
const mostNamed = 20;

function firstOf(names: readonly string[]): string {
  const more = names.length - mostNamed;
  return [...names.slice(0, mostNamed), ...(more > 0 ? [`${more} more`] : [])].join(", ");
}
