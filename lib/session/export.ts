import { itemsAndAgents, type WrittenAgent } from "./agents.ts";
import { atif } from "./atif.ts";
import type { DocumentWriter, WrittenSession } from "./document.ts";
import { html } from "./html.ts";
import { itemJson, sessionJson } from "./json.ts";
import { markdown } from "./markdown.ts";

const jsonl: DocumentWriter = function* (session) {
  yield lineOf({ kind: "session", ...sessionJson(session.total) });
  for (const item of itemsAndAgents(session))
    yield* item.kind === "agent" ? agentLines(item) : [lineOf(itemJson(item))];
};

/** Its items name their session. */
function* agentLines({ id, session }: WrittenAgent): Generator<string> {
  if (session === undefined) return yield lineOf({ kind: "agent", id, removed: true });
  yield lineOf({ kind: "agent", ...sessionJson(session.info) });
  for (const item of session.items) yield lineOf({ session: id, ...itemJson(item) });
}

function lineOf(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}

const writers = { markdown, html, jsonl, atif } as const satisfies Record<string, DocumentWriter>;

export type ExportFormat = keyof typeof writers;

/** A session as a document, piece by piece. */
export function exportSession(session: WrittenSession, format: ExportFormat): Iterable<string> {
  return writers[format](session);
}
