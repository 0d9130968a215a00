import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { formatDuration } from "../lib/config/units.ts";
import { databaseFile, snapshotDirectory } from "../lib/config/paths.ts";
import { counted, withCommas } from "../lib/counted.ts";
import { KodaError } from "../lib/errors.ts";
import { inMemory, isForLackOfSpace } from "../lib/session/database.ts";
import { exportSession } from "../lib/session/export.ts";
import { assertUsers } from "../lib/session/agents.ts";
import { textOfParts } from "../lib/session/content.ts";
import { withoutRolledBack } from "../lib/session/standing.ts";
import { sessionJson } from "../lib/session/json.ts";
import type { SessionInfo } from "../lib/session/log.ts";
import type { Family } from "../lib/session/removal.ts";
import type { SearchMatch } from "../lib/session/search.ts";
import { openStore, type Store } from "../lib/session/store.ts";
import { passagesWithAgents } from "../lib/session/transcript.ts";
import { OutputStream } from "../lib/sink/output.ts";
import { oneLine, plain } from "../lib/sink/style.ts";
import { rootOf } from "./basesettings.ts";
import { printNote } from "./note.ts";
import type { CommandOptions } from "./options.ts";
import { asJson } from "./print.ts";
import { jsonArray, jsonOfSession } from "./sessionjson.ts";
import { type Listed, sessionTable, titleWithAgent } from "./sessiontable.ts";
import { isTerminal } from "./terminal.ts";
import { version } from "./version.ts";

const mostListed = 30;
const mostFound = 20;
/** More new items than this take a second to index. */
const mostInSilence = 20_000;

export function listSessions({ json, here, children, limit }: CommandOptions<"session list">): Promise<number> {
  return withStore(async function* (store) {
    const among = { cwd: here ? rootOf(undefined) : undefined, children };
    const most = limit ?? (json ? Infinity : mostListed);
    const shown = store.totals(store.list({ ...among, limit: most === Infinity ? undefined : most }));
    if (json) {
      yield* jsonArray(
        shown.values().map((info) => ({ ...sessionJson(info), outcome: store.outcome(info) })),
        "",
      );
      yield "\n";
    } else yield sessionTable(listed(store, shown), await columnsOfStdout());
    const all = shown.length < most ? shown.length : store.count(among);
    if (all === 0) await printNote(here ? "No sessions in this directory" : "No sessions");
    else await printLimit(shown.length, all);
  });
}

export function showSession({ id, json }: CommandOptions<"session show">): Promise<number> {
  return withStore(async function* (store) {
    const session = store.read(sessionOf(store, id));
    if (json) {
      yield* jsonOfSession(session);
      return yield "\n";
    }
    yield plain(`${heading(session.info)}\n`);
    for (const passage of passagesWithAgents(session)) yield plain(`\n${passage}\n`);
  });
}

export function exportDocument({ id, format = "markdown" }: CommandOptions<"session export">): Promise<number> {
  return withStore(async function* (store) {
    const session = store.read(sessionOf(store, id));
    const pieces = exportSession({ ...session, version }, format);
    // JSON escapes control characters; a document must not contain any.
    for (const piece of pieces) yield format === "jsonl" || format === "atif" ? piece : plain(piece);
  });
}

/** The latest sessions of a directory, for a terminal. */
export async function sessionsHere(cwd: string, limit: number): Promise<string> {
  await using store = openExisting();
  return sessionTable(listed(store, store.totals(store.list({ cwd, limit }))), await columnsOfStdout()).trimEnd();
}

/** The id of a session that a person can go on with. */
export async function usersSession(idOrPrefix: string): Promise<string> {
  await using store = openExisting();
  const info = store.find(idOrPrefix);
  assertUsers(info, (parent) => `go on with that one: /resume ${parent}`);
  return info.id;
}

/** The latest prompts and answers of a session, oldest first, each cut to so many lines. */
export async function latestMessages(id: string, { count, lines: most }: { count: number; lines: number }) {
  await using store = openExisting();
  return withoutRolledBack(store.read(store.find(id)).items)
    .flatMap((item) => {
      if (item.kind === "user") return [{ isPrompt: true, text: textOfParts(item.parts) }];
      if (item.kind !== "assistant") return [];
      const text = item.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
      return text.trim() === "" ? [] : [{ isPrompt: false, text }];
    })
    .slice(-count)
    .map(({ isPrompt, text }) => ({ isPrompt, text: firstLines(plain(text.trim()), most) }));
}

function firstLines(text: string, most: number): string {
  const lines = text.split("\n");
  return lines.length <= most ? text : [...lines.slice(0, most), "…"].join("\n");
}

/** A session as a Markdown document. */
export async function markdownOf(id: string): Promise<string> {
  await using store = openExisting();
  return [...exportSession({ ...store.read(store.find(id)), version }, "markdown")].map(plain).join("");
}

export function searchSessions({ query, json, limit = mostFound }: CommandOptions<"session search">): Promise<number> {
  return withStore(async function* (store) {
    const unindexed = store.unindexed();
    if (unindexed > mostInSilence) await printNote(`Indexing ${withCommas(unindexed)} items first`);
    // The build makes the JIT reluctant, and indexing is a few loops.
    if (unindexed > 0) Bun.unsafe.setJITPolicy(1);
    const { matches, total } = store.search(query, limit);
    if (json) yield asJson(matches.map((match) => matchJson(store, match)));
    else yield matchLines(store, matches);
    if (total === 0) await printNote(`No matches for "${oneLine(query, 60)}"`);
    else await printLimit(matches.length, total);
  });
}

export function removeSession({ id, json }: CommandOptions<"session rm">): Promise<number> {
  return withStore(async function* (store) {
    const { id: whole } = store.find(id);
    const family = await deleting(store, { going: () => [whole], remove: () => store.remove(whole) });
    const { info, agents } = family;
    await freeSnapshots(store);
    if (json) return yield asJson({ removed: idsOf(family) });
    const also = agents.length === 0 ? "" : `\nDeleted ${counted(agents.length, "agent")} of it`;
    yield `${`Deleted ${info.id}  ${oneLine(info.title, 80)}`.trimEnd()}${also}\n`;
  });
}

export function pruneSessions({ olderThan, dryRun, json }: CommandOptions<"session prune">): Promise<number> {
  return withStore(async function* (store) {
    const prunable = () => store.prunable(olderThan);
    const going = () => prunable().unused.flatMap(idsOf);
    const prune = () => deleting(store, { going, remove: () => store.prune(olderThan) });
    const { unused, held } = dryRun ? prunable() : await prune();
    const ids = unused.flatMap(idsOf);
    const inUse = held.map(({ info }) => info.id);
    if (!dryRun) await freeSnapshots(store);
    if (json) return yield asJson({ [dryRun ? "would_remove" : "removed"]: ids, in_use: inUse });
    const sessions = unused.map(({ info }) => info).toReversed();
    if (dryRun) yield sessionTable(listed(store, store.totals(sessions)), await columnsOfStdout());
    const verb = dryRun ? "Would delete" : "Deleted";
    const agents = ids.length - unused.length;
    const also = agents === 0 ? "" : ` and ${counted(agents, "agent")}`;
    if (unused.length > 0) yield `${verb} ${counted(unused.length, "session")}${also}\n`;
    else if (inUse.length === 0) yield `Nothing to delete: no session is older than ${formatDuration(olderThan)}\n`;
    if (inUse.length > 0)
      yield `${dryRun ? "Would keep" : "Kept"} ${counted(inUse.length, "session")} that a process is using: ${inUse.join(", ")}\n`;
  });
}

function idsOf({ info, agents }: Family): string[] {
  return [info, ...agents].map(({ id }) => id);
}

/** Ten thousand new items add less to the index. Copying that into the file takes longer than most searches. */
const mostLeftBytes = 4 * 1024 * 1024;

/** Runs a command on the store and prints its text. */
export async function withStore(command: (store: Store) => AsyncGenerator<string, void>): Promise<number> {
  try {
    await using leaving = new AsyncDisposableStack();
    const store = leaving.adopt(openExisting(), (left) => left.leave(mostLeftBytes));
    const stdout = new OutputStream(1, "stdout");
    for await (const text of command(store)) await stdout.write(text);
    await stdout.flush();
    return 0;
  } catch (error) {
    throw isForLackOfSpace(error) ? diskFull(error) : error;
  }
}

function diskFull(cause: unknown): KodaError {
  const path = databasePath();
  const snapshots = snapshotDirectory(path);
  const example = `: you may delete "${snapshots}", but then no files of earlier turns can be restored`;
  const advice = `Free a few megabytes${existsSync(snapshots) ? example : ""}`;
  return new KodaError("store", `The disk with "${path}" is full, and even a deletion needs some space. ${advice}.`, {
    cause,
  });
}

type Deletion<T> = { going: () => readonly string[]; remove: () => T };

/** On a full disk the snapshots of the sessions go first: the database needs some space before it has less in it. */
async function deleting<T>(store: Store, { going, remove }: Deletion<T>): Promise<T> {
  try {
    return remove();
  } catch (error) {
    if (!isForLackOfSpace(error)) throw error;
    await freeSnapshots(store, new Set(going()));
    return remove();
  }
}

/** Removes the files that only deleted sessions needed, or those that are going to be. */
async function freeSnapshots(store: Store, going: ReadonlySet<string> = new Set()): Promise<void> {
  const { sweepSnapshots } = await import("../lib/worktree/sweep.ts");
  const sessions = store.list({ children: true }).flatMap(({ id }) => (going.has(id) ? [] : [id]));
  sweepSnapshots(snapshotDirectory(databasePath()), { sessions });
}

/** Without a database an empty one in memory is used, so that none is created. */
function openExisting(): Store {
  const path = databasePath();
  return openStore(existsSync(path) ? path : inMemory);
}

function databasePath(): string {
  return databaseFile({ env: process.env, home: homedir() });
}

function listed(store: Store, sessions: readonly SessionInfo[]): Listed[] {
  return sessions.map((info) => ({
    info,
    shortId: store.shortId(info),
    outcome: store.outcome(info),
  }));
}

async function columnsOfStdout(): Promise<number> {
  return ((await isTerminal(1)) && process.stdout.columns) || 80;
}

async function printLimit(shown: number, total: number): Promise<void> {
  if (shown < total) await printNote(`Showing ${withCommas(shown)} of ${withCommas(total)}; -n N shows more`);
}

/** The session with this id, or this directory's latest one. */
function sessionOf(store: Store, id: string | undefined): SessionInfo {
  if (id !== undefined) return store.find(id);
  const root = rootOf(undefined);
  const latest = store.latest(root);
  if (latest !== undefined) return latest;
  throw new KodaError("session_not_found", `No sessions in "${root}": koda session list shows all`);
}

/** Two lines a match: session and time, then the text. */
function matchLines(store: Store, matches: readonly SearchMatch[]): string {
  const headings = new Map([...new Set(matches.map(({ session }) => session))].map((id) => [id, headingOf(store, id)]));
  return matches
    .map(({ session, at, kind, snippet }) => {
      const { shortId = session, title = "" } = headings.get(session) ?? {};
      return `${shortId}  ${formatTime(at)}  ${kind}  ${title}`.trimEnd() + `\n    ${plain(snippet)}\n`;
    })
    .join("");
}

function headingOf(store: Store, id: string) {
  const info = store.named(id);
  return info && { shortId: store.shortId(info), title: oneLine(titleWithAgent(info), 80) };
}

function matchJson(store: Store, { session, seq, kind, snippet }: SearchMatch) {
  const { agent, parent } = store.named(session) ?? {};
  return { session, seq, kind, snippet, ...(agent !== undefined && { agent, parent }) };
}

/** Local time. */
function formatTime(ms: number): string {
  const at = new Date(ms);
  const two = (value: number) => String(value).padStart(2, "0");
  const date = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join("-");
  return `${date} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

function heading(info: SessionInfo): string {
  const relation = info.agent === undefined ? "forked from" : `agent ${info.agent} of`;
  const from = info.parent === undefined ? "" : `, ${relation} ${info.parent}`;
  const as = info.agent !== undefined || info.runAs === null ? "" : `, run as ${info.runAs}`;
  const used = `in ${info.cwd}, last used ${formatTime(info.updatedAt)}`;
  return `session ${info.id}${from}${as}\n${info.provider}/${info.model} ${used}`;
}
