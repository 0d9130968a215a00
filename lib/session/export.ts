import type { DocumentWriter } from "./document.ts";
import { html } from "./html.ts";
import type { LoggedItem } from "./item.ts";
import { itemJson, sessionJson } from "./json.ts";
import type { SessionInfo } from "./log.ts";
import { markdown } from "./markdown.ts";

const jsonl: DocumentWriter = {
  begin: (info) => `${JSON.stringify({ kind: "session", ...sessionJson(info) })}\n`,
  *items(items) {
    for (const item of items) yield `${JSON.stringify(itemJson(item))}\n`;
  },
  end: "",
};

const writers = { markdown, html, jsonl } as const satisfies Record<string, DocumentWriter>;

export type ExportFormat = keyof typeof writers;

/** A session as a document, piece by piece. */
export function* exportSession(
  { info, items }: { info: SessionInfo; items: readonly LoggedItem[] },
  format: ExportFormat,
): Generator<string, void> {
  const write = writers[format];
  yield write.begin(info);
  yield* write.items(items);
  yield write.end;
}
