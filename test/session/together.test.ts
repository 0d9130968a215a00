import { Database as Sqlite } from "bun:sqlite";
import { expect, test } from "bun:test";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "../../lib/session/store.ts";
import { makeShelf, user } from "../support/sessions.ts";
import { assertAccepted } from "../support/session-walk.ts";

const writer = join(import.meta.dir, "../support/session-writer.ts");

function spawnWriter(path: string, id: string, ...rest: string[]) {
  const argv = [process.execPath, writer, path, id, ...rest];
  return Bun.spawn(argv, { stdin: "pipe", stdout: "pipe", stderr: "pipe" });
}

async function restOf(reader: { read(): Promise<{ value?: Uint8Array | undefined }> }): Promise<string> {
  const chunks: Uint8Array[] = [];
  for (let { value } = await reader.read(); value !== undefined; { value } = await reader.read()) chunks.push(value);
  return Buffer.concat(chunks).toString();
}

test("fifty processes that start at once make one database and lose nothing", async () => {
  await using shelf = makeShelf();
  // Not even the database is there yet: its creation and its migration are part of the race.
  const path = join(shelf.directory, "fresh", "koda.db");
  const writers = Array.from({ length: 50 }, (_, n) => {
    const child = spawnWriter(path, `s${n}`, "4", "together");
    return { child, stdout: child.stdout.getReader() };
  });
  for (const { stdout } of writers) await stdout.read();
  for (const { child } of writers) void child.stdin.end();
  const ends = await Promise.all(
    writers.map(async ({ child, stdout }) => [await restOf(stdout), await child.stderr.text(), await child.exited]),
  );
  expect(ends).toEqual(writers.map(() => ['{"length":4}\n', "", 0]));

  await using store = openStore(path);
  expect(store.list()).toHaveLength(50);
  for (let n = 0; n < 50; n++) {
    const said = store.items(`s${n}`).map((item) => (item.kind === "user" ? item.parts[0] : item.kind));
    expect(said).toEqual([0, 1, 2, 3].map((k) => ({ type: "text", text: `item ${k} xxxxxxxxxx` })));
  }
  expect(store.search("item", 50).matches).not.toBeEmpty();
}, 60_000);

test("of many processes that open one session at once, one gets it and the others are told so", async () => {
  await using shelf = makeShelf();
  const holder = spawnWriter(shelf.path, "shared", "endless");
  await holder.stdout.getReader().read();
  const others = Array.from({ length: 6 }, () => spawnWriter(shelf.path, "shared", "1"));
  for (const other of others) expect(JSON.parse(await other.stdout.text())).toMatchObject({ code: "session_held" });
  holder.kill("SIGKILL");
  await holder.exited;
});

test("a session whose process was killed at any moment is whole and goes on", async () => {
  await using shelf = makeShelf();
  for (let round = 0; round < 12; round++) {
    const id = `killed-${round}`;
    const child = spawnWriter(shelf.path, id, "endless");
    await child.stdout.getReader().read();
    await Bun.sleep(Math.random() * 40);
    child.kill("SIGKILL");
    await child.exited;

    using db = new Sqlite(shelf.path);
    expect(db.query("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
    expect(db.query("PRAGMA foreign_key_check").all()).toEqual([]);
    db.run("INSERT INTO search (search) VALUES ('integrity-check')");

    await using session = await shelf.store.open(id);
    const items = shelf.store.items(id);
    expect(items.length).toBeGreaterThan(1);
    expect(items.map(({ seq }) => seq)).toEqual(items.map((_, index) => index + 1));
    expect(session.info.length).toBe(items.length);
    expect(session.info.turns).toBe(items.at(-1)?.turn ?? 0);

    session.beginTurn();
    session.append(user("go on"));
    assertAccepted(session.history());
  }
});

test("a database that is deleted while it is open does not bring down who reads it anew", async () => {
  await using shelf = makeShelf();
  for (const suffix of ["", "-wal", "-shm"]) rmSync(shelf.path + suffix, { force: true });
  await using store = openStore(shelf.path);
  expect(store.list()).toEqual([]);
  expect(existsSync(shelf.path)).toBe(true);
});
