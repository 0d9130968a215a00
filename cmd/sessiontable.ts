import { homedir } from "node:os";
import { formatAge } from "../lib/config/units.ts";
import type { SessionInfo } from "../lib/session/log.ts";
import { totalTokens } from "../lib/session/json.ts";
import type { SessionOutcome } from "../lib/session/outcome.ts";
import { dollars, inline, oneLine } from "../lib/sink/style.ts";
import { tableOf } from "./table.ts";

export type Listed = { info: SessionInfo; shortId: string; outcome: SessionOutcome | null };

const gap = 2;
/** Of the width that is left, the directory takes less than half. */
const directoryShare = 0.4;
/** A title with less room says nothing. */
const leastTitle = 10;

type Column = { heading: string; cells: readonly string[] };

/** One line a session, at most `columns` wide: directory and title share what the other columns leave. */
export function sessionTable(sessions: readonly Listed[], columns: number): string {
  if (sessions.length === 0) return "";
  const { shown, left } = columnsFor(factColumns(sessions), columns);
  const directories = sessions.map(({ info }) => fromHome(inline(info.cwd)));
  const directory = fitted("DIRECTORY", directories, Math.floor(left * directoryShare));
  const leftForTitle = left - widthOf(directory);
  const isWide = leftForTitle >= leastTitle;
  const titleWidth = isWide ? leftForTitle : left;
  const titles = sessions.map(({ info }) => oneLine(titleWithAgent(info), Math.max(titleWidth, leastTitle)));
  const all = [...shown, ...(isWide ? [directory] : []), { heading: "TITLE", cells: titles }];
  return tableOf([
    all.map(({ heading }) => heading),
    ...sessions.map((_, row) => all.map(({ cells }) => cells[row] ?? "")),
  ]);
}

/** The columns that a narrow terminal has no room for, in the order in which they are left out. */
const leastImportant = ["COST", "TOKENS", "TURNS", "AGE", "OUTCOME"];

function columnsFor(facts: readonly Column[], columns: number): { shown: readonly Column[]; left: number } {
  let shown = facts;
  const left = () => shown.reduce((rest, column) => rest - widthOf(column), columns);
  for (const heading of leastImportant) {
    if (left() >= leastTitle) break;
    shown = shown.filter((column) => column.heading !== heading);
  }
  return { shown, left: left() };
}

/** With the space behind it. */
function widthOf({ heading, cells }: Column): number {
  return Math.max(...[heading, ...cells].map((cell) => Bun.stringWidth(cell))) + gap;
}

function fitted(heading: string, paths: readonly string[], columns: number): Column {
  return { heading, cells: paths.map((path) => endOf(path, Math.max(columns, heading.length))) };
}

function factColumns(sessions: readonly Listed[]): Column[] {
  const column = (heading: string, cellOf: (session: Listed) => string) => ({ heading, cells: sessions.map(cellOf) });
  return [
    column("ID", ({ shortId }) => shortId),
    column("AGE", ({ info }) => formatAge(Date.now() - info.updatedAt)),
    column("TURNS", ({ info }) => String(info.turns)),
    column("TOKENS", ({ info }) => tokensOf(info)),
    column("COST", ({ info }) => (tokensOf(info) === "" || info.costUsd === null ? "" : dollars(info.costUsd))),
    column("OUTCOME", ({ outcome }) => outcome ?? ""),
  ];
}

/** The name of an agent, or of the agent that the run was, stands before its title: `[explore] Where is it?` */
export function titleWithAgent({ title, agent, runAs }: SessionInfo): string {
  const name = agent ?? runAs;
  return name === null ? title : `[${name}] ${title}`;
}

function tokensOf(info: SessionInfo): string {
  const tokens = totalTokens(info);
  return tokens === null ? "" : tokens.toLocaleString("en", { notation: "compact", maximumFractionDigits: 1 });
}

function fromHome(path: string): string {
  const home = homedir();
  return path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}

/** The end of a path tells more than its beginning. */
function endOf(path: string, columns: number): string {
  const width = Bun.stringWidth(path);
  return width <= columns ? path : `…${Bun.sliceAnsi(path, width - columns + 1)}`;
}
