import { Database as Sqlite } from "bun:sqlite";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "../lib/session/store.ts";

type Bulk = { sessions: number; items: number; first?: number };

/** Writes sessions with this many items each, by plain SQL; the texts are pieces of koda's own source. */
export function addSessions(path: string, { sessions, items, first = 0 }: Bulk): void {
  openStore(path).close();
  using db = new Sqlite(path, { readwrite: true, strict: true });
  db.run("PRAGMA synchronous = OFF");
  const session = db.query(
    `INSERT INTO session (id, title, cwd, model, provider, mode, created_at, updated_at, length, indexed, turns, input,
       output, cost, ended)
       VALUES (?1, ?2, '/home/me/project', 'big', 'corp', 'auto', ?3, ?3, ?4, 0, ?5, 12345, 678, 0.25, 'complete')`,
  );
  const content = db.query("INSERT INTO content (body) VALUES (?)");
  const item = db.query("INSERT INTO item (session, seq, turn, kind, at, content) VALUES (?, ?, ?, ?, ?, ?)");
  for (let n = first; n < first + sessions; n++)
    db.transaction(() => {
      const id = `bulk-${String(n).padStart(6, "0")}`;
      const at = Date.UTC(2026, 0, 1) + n * 60_000;
      session.run(id, `Task ${n}: ${piece(n, 40)}`, at, items, Math.ceil(items / itemsOfTurn));
      for (let seq = 1; seq <= items; seq++) {
        const { kind, body } = itemAt(seq, n * items + seq);
        const { lastInsertRowid } = content.run(body);
        item.run(id, seq, Math.ceil(seq / itemsOfTurn), kind, at, lastInsertRowid);
      }
    }).immediate();
}

const itemsOfTurn = 20;

function itemAt(seq: number, n: number): { kind: string; body: string } {
  const place = (seq - 1) % itemsOfTurn;
  const usage = { input: 100, cached: null, output: 10, reasoning: null };
  if (place === 0) return bodyOf({ kind: "turn_start" });
  if (place === 1) return bodyOf({ kind: "user", parts: [{ type: "text", text: piece(n, 200) }] });
  if (place === itemsOfTurn - 1) return bodyOf({ kind: "turn_end", reason: "complete" });
  if (place % 2 === 1)
    return bodyOf({ kind: "result", call: `c${n - 1}`, tool: "Bash", ok: true, parts: [text(n, 900)], durationMs: 5 });
  const call = { type: "call", id: `c${n}`, tool: "Bash", arguments: JSON.stringify({ command: piece(n, 80) }) };
  return bodyOf({ kind: "assistant", parts: [text(n, 250), call], finish: "calls", usage });
}

function text(n: number, length: number): { type: "text"; text: string } {
  return { type: "text", text: `${piece(n * 7, length)} ${Bun.hash.crc32(String(n)).toString(16)}` };
}

function bodyOf(item: { kind: string; [key: string]: unknown }): { kind: string; body: string } {
  return { kind: item.kind, body: JSON.stringify(item) };
}

/** Some characters of the source; some pieces are Chinese or Japanese as well. */
export function piece(n: number, length: number): string {
  const from = (n * 7919) % (source.length - length);
  const said = source.slice(from, from + length);
  return n % 97 === 0 ? `${said} 数据库连接失败，请检查配置文件。設定を確認してください。` : said;
}

const source = sourceOf(join(import.meta.dir, "..")).join("\n");

function sourceOf(root: string): string[] {
  const files = ["lib", "cmd", "test", "docs"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.(ts|md)$/.test(name))
      .sort()
      .map((name) => join(root, folder, name)),
  );
  return files.map((file) => readFileSync(file, "utf8"));
}
