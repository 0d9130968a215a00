/** The least that reading sessions takes: the same rows of the same database, by plain SQL. */
import { Database } from "bun:sqlite";
import { writeSync } from "node:fs";

const [way = "", path = "", word = ""] = process.argv.slice(2);
const db = new Database(path, { readwrite: true });

switch (way) {
  case "search": {
    const newest = "SELECT rowid FROM search WHERE search MATCH ? ORDER BY rowid DESC LIMIT 20";
    print(db.query(`SELECT body FROM content WHERE id IN (${newest})`).all(`"${word}"`));
    break;
  }
  case "index": {
    db.run("CREATE VIRTUAL TABLE temp.floor USING fts5 (text, content = '')");
    db.run("INSERT INTO temp.floor (rowid, text) SELECT id, body FROM content ORDER BY id DESC LIMIT 10000");
    break;
  }
  case "list":
    print(db.query("SELECT * FROM session ORDER BY updated_at DESC").all());
    break;
  case "log": {
    const rows = db.query<{ body: string }, []>("SELECT body FROM item JOIN content ON id = content ORDER BY seq");
    for (const { body } of rows.iterate()) writeSync(1, `${body}\n`);
    break;
  }
}

function print(rows: unknown): void {
  writeSync(1, JSON.stringify(rows));
}
