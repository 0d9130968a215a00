import { homedir } from "node:os";
import { formatAge } from "../lib/config/units.ts";
import type { SessionInfo } from "../lib/session/log.ts";
import { totalTokens } from "../lib/session/json.ts";
import type { SessionOutcome } from "../lib/session/outcome.ts";
import { dollars, inline, oneLine } from "../lib/sink/style.ts";
import { tableOf } from "./table.ts";

export type Listed = { info: SessionInfo; shortId: string; outcome: SessionOutcome };

const headings = ["ID", "AGE", "TURNS", "TOKENS", "COST", "OUTCOME"] as const;
const gap = 2;
/** Of the width that is left, the directory takes less than half. */
const directoryShare = 0.4;

/** One line a session, at most `columns` wide: directory and title share the remaining width. */
export function sessionTable(sessions: readonly Listed[], columns: number): string {
  if (sessions.length === 0) return "";
  const table = [[...headings], ...sessions.map(factsOf)];
  const used = headings.map((_, at) => Math.max(...table.map((row) => Bun.stringWidth(row[at] ?? ""))) + gap);
  const left = columns - used.reduce((sum, width) => sum + width);
  const directories = sessions.map(({ info }) => endOf(fromHome(inline(info.cwd)), Math.floor(left * directoryShare)));
  const widest = Math.max("DIRECTORY".length, ...directories.map((directory) => Bun.stringWidth(directory)));
  const titles = sessions.map(({ info }) => oneLine(titleWithAgent(info), left - widest - gap));
  const [heads = [], ...rows] = table;
  return tableOf([
    [...heads, "DIRECTORY", "TITLE"],
    ...rows.map((row, at) => [...row, directories[at] ?? "", titles[at] ?? ""]),
  ]);
}

/** The name of an agent stands before its title: `[explore] Where is it?` */
export function titleWithAgent({ title, agent }: SessionInfo): string {
  return agent === undefined ? title : `[${agent}] ${title}`;
}

function factsOf({ info, shortId, outcome }: Listed): string[] {
  const tokens = totalTokens(info);
  return [
    shortId,
    formatAge(Date.now() - info.updatedAt),
    String(info.turns),
    tokens === null ? "" : compact(tokens),
    tokens === null || info.costUsd === null ? "" : dollars(info.costUsd),
    outcome,
  ];
}

function compact(count: number): string {
  return count.toLocaleString("en", { notation: "compact", maximumFractionDigits: 1 });
}

function fromHome(path: string): string {
  const home = homedir();
  return path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}

/** The end of a path tells more than its beginning. */
function endOf(path: string, columns: number): string {
  const most = Math.max(columns, "DIRECTORY".length);
  const width = Bun.stringWidth(path);
  return width <= most ? path : `…${Bun.sliceAnsi(path, width - most + 1)}`;
}
