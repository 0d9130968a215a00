import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { databaseFile } from "../lib/config/paths.ts";
import { inMemory } from "../lib/session/database.ts";
import { exportSession } from "../lib/session/export.ts";
import { itemJson, sessionJson } from "../lib/session/json.ts";
import type { SessionInfo } from "../lib/session/log.ts";
import { openStore, type Store } from "../lib/session/store.ts";
import { transcriptOf } from "../lib/session/transcript.ts";
import { Output } from "../lib/sink/output.ts";
import { oneLine, plain } from "../lib/sink/style.ts";
import type { Options } from "./options.ts";
import { asJson } from "./print.ts";
import { tableOf } from "./table.ts";

export function list({ json }: Options<"session list">): Promise<number> {
  return answer(async function* (store) {
    const sessions = store.list();
    yield json ? asJson(sessions.map(sessionJson)) : table(sessions);
  });
}

export function show({ id, json }: Options<"session show">): Promise<number> {
  return answer(async function* (store) {
    const info = store.find(id);
    const items = await store.items(info.id);
    if (json) yield asJson({ session: sessionJson(info), items: items.map(itemJson) });
    else yield plain(`${heading(info)}\n\n${transcriptOf(items)}\n`);
  });
}

export function exportDocument({ id, format = "markdown" }: Options<"session export">): Promise<number> {
  return answer(async function* (store) {
    const info = store.find(id);
    const pieces = exportSession({ info, items: await store.items(info.id) }, format);
    // JSON has its own escapes for control characters; a document is better off without them.
    for (const piece of pieces) yield format === "jsonl" ? piece : plain(piece);
  });
}

export function search({ query, json }: Options<"session search">): Promise<number> {
  return answer(async function* (store) {
    const matches = await store.search(query);
    if (json) yield asJson(matches);
    else
      yield matches
        .map(({ session, seq, kind, snippet }) => `${session} #${seq} ${kind}: ${plain(snippet)}\n`)
        .join("");
  });
}

export function remove({ id, json }: Options<"session rm">): Promise<number> {
  return answer(async function* (store) {
    yield removal([store.remove(id)], json);
  });
}

export function prune({ olderThan, json }: Options<"session prune">): Promise<number> {
  return answer(async function* (store) {
    yield removal(store.prune(olderThan), json);
  });
}

/** Everything is on stdout before the command is over. */
async function answer(command: (store: Store) => AsyncGenerator<string, void>): Promise<number> {
  await using store = openExisting();
  const stdout = new Output(1, "stdout");
  for await (const text of command(store)) await stdout.write(text);
  await stdout.flush();
  return 0;
}

/** To ask after sessions where there are none makes no database. */
function openExisting(): Store {
  const path = databaseFile({ env: process.env, home: homedir() });
  return openStore(existsSync(path) ? path : inMemory);
}

function table(sessions: readonly SessionInfo[]): string {
  if (sessions.length === 0) return "";
  const rows = sessions.map((info) => {
    const { tokens } = sessionJson(info);
    const figures = [String(info.turns), tokens === null ? "-" : String(tokens)];
    return [info.id, minute(info.updatedAt), ...figures, plain(info.cwd), oneLine(info.title, 80)];
  });
  return tableOf([["ID", "UPDATED", "TURNS", "TOKENS", "DIRECTORY", "TITLE"], ...rows]);
}

/** In local time, as a person would look for it. */
function minute(ms: number): string {
  const at = new Date(ms);
  const two = (value: number) => String(value).padStart(2, "0");
  const date = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join("-");
  return `${date} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

function heading(info: SessionInfo): string {
  const from = info.parent === undefined ? "" : `, forked from ${info.parent}`;
  return `session ${info.id}${from}\n${info.provider}/${info.model} in ${info.cwd}, last used ${minute(info.updatedAt)}`;
}

function removal(sessions: readonly SessionInfo[], json: boolean): string {
  if (json) return asJson({ removed: sessions.map(({ id }) => id) });
  return sessions.map(({ id, title }) => `Removed ${id}  ${oneLine(title, 80)}`.trimEnd() + "\n").join("");
}
