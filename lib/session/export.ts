import { atif } from "./atif.ts";
import type { DocumentWriter, WrittenSession } from "./document.ts";
import { html } from "./html.ts";
import { itemJson, sessionJson } from "./json.ts";
import { markdown } from "./markdown.ts";

const jsonl: DocumentWriter = function* ({ info, items }) {
  yield `${JSON.stringify({ kind: "session", ...sessionJson(info) })}\n`;
  for (const item of items) yield `${JSON.stringify(itemJson(item))}\n`;
};

const writers = { markdown, html, jsonl, atif } as const satisfies Record<string, DocumentWriter>;

export type ExportFormat = keyof typeof writers;

/** A session as a document, piece by piece. */
export function exportSession(session: WrittenSession, format: ExportFormat): Iterable<string> {
  return writers[format](session);
}
