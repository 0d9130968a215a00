import type { SessionInfo } from "../lib/session/log.ts";
import type { SessionOutcome } from "../lib/session/outcome.ts";
import { oneLine } from "../lib/sink/style.ts";
import { tableOf } from "./table.ts";

export type Listed = { info: SessionInfo; shortId: string; outcome: SessionOutcome };

const mostOfModel = 20;
const gap = 2;

/** A line for each session, none wider than `columns`: the title is cut to fit. */
export function sessionTable(sessions: readonly Listed[], columns: number): string {
  if (sessions.length === 0) return "";
  const facts = sessions.map(({ info, shortId, outcome }) => [
    shortId,
    ageOf(info.updatedAt),
    oneLine(info.model, mostOfModel),
    outcome,
  ]);
  const table = [["ID", "AGE", "MODEL", "OUTCOME"], ...facts];
  const used = [0, 1, 2, 3].map((at) => Math.max(...table.map((row) => Bun.stringWidth(row[at] ?? ""))) + gap);
  const left = columns - used.reduce((sum, width) => sum + width);
  const titles = ["TITLE", ...sessions.map(({ info }) => oneLine(info.title, left))];
  return tableOf(table.map((row, at) => [...row, titles[at] ?? ""]));
}

const units = [
  ["y", 365 * 86_400],
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
] as const;

/** The time since a session was last used: `5m`, `3h`, `12d`. */
function ageOf(ms: number): string {
  const seconds = Math.max(0, Math.floor((Date.now() - ms) / 1_000));
  const [unit, size] = units.find(([, size]) => seconds >= size) ?? ["s", 1];
  return `${Math.floor(seconds / size)}${unit}`;
}
