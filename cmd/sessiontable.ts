import { formatAge } from "../lib/config/units.ts";
import type { SessionInfo } from "../lib/session/log.ts";
import type { SessionOutcome } from "../lib/session/outcome.ts";
import { oneLine } from "../lib/sink/style.ts";
import { tableOf } from "./table.ts";

export type Listed = { info: SessionInfo; shortId: string; outcome: SessionOutcome };

const mostOfModel = 20;
const gap = 2;

/** One line a session, at most `columns` wide: the title gets the remaining width. */
export function sessionTable(sessions: readonly Listed[], columns: number): string {
  if (sessions.length === 0) return "";
  const facts = sessions.map(({ info, shortId, outcome }) => [
    shortId,
    formatAge(Date.now() - info.updatedAt),
    oneLine(info.model, mostOfModel),
    outcome,
  ]);
  const table = [["ID", "AGE", "MODEL", "OUTCOME"], ...facts];
  const used = [0, 1, 2, 3].map((at) => Math.max(...table.map((row) => Bun.stringWidth(row[at] ?? ""))) + gap);
  const left = columns - used.reduce((sum, width) => sum + width);
  const titles = ["TITLE", ...sessions.map(({ info }) => oneLine(info.title, left))];
  return tableOf(table.map((row, at) => [...row, titles[at] ?? ""]));
}
