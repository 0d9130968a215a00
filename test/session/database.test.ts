import { Database as Sqlite } from "bun:sqlite";
import { expect, test } from "bun:test";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "../../lib/session/store.ts";
import { makeShelf, start, user } from "../support/sessions.ts";

/** An empty directory that is gone after the test. */
function makeDirectory() {
  const path = fs.mkdtempSync(join(tmpdir(), "koda-database-"));
  return { path, [Symbol.dispose]: () => fs.rmSync(path, { recursive: true, force: true }) };
}

const modeOf = (path: string) => (fs.statSync(path).mode & 0o777).toString(8);

/** What openStore says of a path; every message names it and says what to do. */
function refusalOf(path: string): string {
  try {
    openStore(path).close();
  } catch (error) {
    expect(error).toMatchObject({ name: "KodaError", code: "store" });
    const message = error instanceof Error ? error.message : "";
    expect(message).toStartWith(`Cannot use the session database "${path}": `);
    expect(message).toContain("KODA_HOME");
    return message;
  }
  throw new Error(`${path} was opened`);
}

test("a new database and its directories are the user's alone", async () => {
  using directory = makeDirectory();
  const path = join(directory.path, "a", "b", "koda.db");
  await using store = openStore(path);
  await using session = store.create(start);
  session.append(user("hello"));
  expect([modeOf(path), modeOf(`${path}-wal`), modeOf(`${path}-shm`)]).toEqual(["600", "600", "600"]);
  expect([modeOf(join(directory.path, "a", "b")), modeOf(join(directory.path, "a"))]).toEqual(["700", "700"]);
});

test("a database that others may read is made private; a directory that was there keeps its mode", async () => {
  using directory = makeDirectory();
  const path = join(directory.path, "koda.db");
  openStore(path).close();
  fs.chmodSync(path, 0o644);
  fs.chmodSync(directory.path, 0o755);
  openStore(path).close();
  expect([modeOf(path), modeOf(directory.path)]).toEqual(["600", "755"]);
});

test("an empty file becomes a database", () => {
  using directory = makeDirectory();
  const path = join(directory.path, "koda.db");
  fs.writeFileSync(path, "");
  openStore(path).close();
  expect(fs.readFileSync(path).subarray(0, 15).toString()).toBe("SQLite format 3");
});

test("a symbolic link to a database is followed", async () => {
  using directory = makeDirectory();
  const [path, link] = [join(directory.path, "real.db"), join(directory.path, "koda.db")];
  openStore(path).close();
  fs.symlinkSync(path, link);
  {
    await using store = openStore(link);
    await using session = store.create({ ...start, id: "linked" });
    session.append(user("hello"));
  }
  expect(fs.lstatSync(link).isSymbolicLink()).toBe(true);
  await using store = openStore(path);
  expect(store.items("linked")).toHaveLength(1);
});

test("a database that lost its write-ahead log gets it back", () => {
  using directory = makeDirectory();
  const path = join(directory.path, "koda.db");
  openStore(path).close();
  const ask = (pragma: string) => {
    using other = new Sqlite(path);
    return other.query(pragma).get();
  };
  expect(ask("PRAGMA journal_mode = DELETE")).toEqual({ journal_mode: "delete" });
  openStore(path).close();
  expect(ask("PRAGMA journal_mode")).toEqual({ journal_mode: "wal" });
});

test("a database that is left has all that was committed, and its log stays for whoever opens it next", async () => {
  using directory = makeDirectory();
  const path = join(directory.path, "koda.db");
  for (const id of ["one", "two"]) {
    const store = openStore(path);
    const session = store.create({ ...start, id });
    session.append(user("hello"));
    session.close();
    store.leave();
    expect(fs.statSync(`${path}-wal`).size).toBeGreaterThan(0);
  }
  {
    await using store = openStore(path);
    expect((await Promise.all(["one", "two"].map((id) => store.items(id)))).flat()).toHaveLength(2);
  }
  expect(fs.existsSync(`${path}-wal`)).toBe(false);
});

test("a long log is not left for the next to read", () => {
  using directory = makeDirectory();
  const path = join(directory.path, "koda.db");
  const store = openStore(path);
  const session = store.create(start);
  for (let n = 0; n < 20; n++) session.append(user("x".repeat(100_000)));
  session.close();
  store.leave();
  expect(fs.existsSync(`${path}-wal`)).toBe(false);
});

test("who leaves takes nothing from a process that goes on", async () => {
  using directory = makeDirectory();
  const path = join(directory.path, "koda.db");
  const other = Bun.spawn([process.execPath, writer, path, "endless", "endless"], { stdout: "pipe" });
  await other.stdout.getReader().read();
  const store = openStore(path);
  const session = store.create({ ...start, id: "brief" });
  session.append(user("hello"));
  session.close();
  store.leave();

  await using later = openStore(path);
  const { length } = later.find("endless");
  while (later.find("endless").length < length + 10) await new Promise((resolve) => setImmediate(resolve));
  other.kill("SIGKILL");
  await other.exited;
  expect(await later.items("brief")).toHaveLength(1);
  expect(await later.items("endless")).toHaveLength(later.find("endless").length);
  using db = new Sqlite(path);
  expect(db.query("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
});

test("a file that is no database is refused and stays as it is", () => {
  using directory = makeDirectory();
  const path = join(directory.path, "koda.db");
  const text = "my diary\n".repeat(1000);
  fs.writeFileSync(path, text);
  expect(refusalOf(path)).toContain("not a SQLite database. Move it away");
  expect(fs.readFileSync(path, "utf8")).toBe(text);
});

test("another application's database is refused and stays as it is", () => {
  using directory = makeDirectory();
  for (const sql of ["CREATE TABLE diary (day TEXT)", "PRAGMA user_version = 1", "PRAGMA application_id = 7; VACUUM"]) {
    const path = join(directory.path, `${Bun.hash(sql)}.db`);
    using other = new Sqlite(path);
    other.run(sql);
    expect(refusalOf(path)).toContain("belongs to another application");
    expect(other.query("SELECT name FROM sqlite_schema WHERE name = 'session'").get()).toBeNull();
  }
});

test("a database of a newer koda is refused, with both versions, and stays as it is", () => {
  using directory = makeDirectory();
  const path = join(directory.path, "koda.db");
  openStore(path).close();
  using other = new Sqlite(path);
  other.run("PRAGMA user_version = 999");
  expect(refusalOf(path)).toMatch(/newer koda \(its schema is 999, this one knows \d+\)\. Update koda/);
  expect(other.query("PRAGMA user_version").get()).toEqual({ user_version: 999 });
});

test("a directory in the database's place is refused", () => {
  using directory = makeDirectory();
  const path = join(directory.path, "koda.db");
  fs.mkdirSync(path);
  expect(refusalOf(path)).toContain("it is not a file. Move it away");
});

test("a named pipe in the database's place is refused without waiting for it", () => {
  using directory = makeDirectory();
  const path = join(directory.path, "koda.db");
  expect(Bun.spawnSync(["mkfifo", path]).exitCode).toBe(0);
  expect(refusalOf(path)).toContain("it is not a file. Move it away");
});

test("a file in the directory's place is refused", () => {
  using directory = makeDirectory();
  fs.writeFileSync(join(directory.path, "koda"), "");
  expect(refusalOf(join(directory.path, "koda", "koda.db"))).toContain("its directory is a file");
  expect(refusalOf(join(directory.path, "koda", "deeper", "koda.db"))).toContain("not a directory");
});

test("a database that was cut short is damaged, and says so", async () => {
  await using shelf = makeShelf();
  const session = shelf.store.create({ ...start, id: "mine" });
  for (let n = 0; n < 200; n++) session.append(user(`${n} ${"x".repeat(1000)}`));
  session.close();
  shelf.store.close();
  fs.truncateSync(shelf.path, 4096 * 3);
  const damaged = async () => {
    await using store = openStore(shelf.path);
    store.items("mine");
  };
  await expect(damaged()).rejects.toMatchObject({ code: "store", message: expect.stringContaining("damaged") });
});

test("a damaged page is met when it is read, and says so", async () => {
  await using shelf = makeShelf();
  const session = shelf.store.create({ ...start, id: "mine" });
  for (let n = 0; n < 200; n++) session.append(user(`${n} ${"x".repeat(1000)}`));
  session.close();
  shelf.store.close();
  const bytes = fs.readFileSync(shelf.path);
  bytes.fill(0xa5, 4096 * 2);
  fs.writeFileSync(shelf.path, bytes);
  const damaged = async () => {
    await using store = openStore(shelf.path);
    store.items("mine");
  };
  await expect(damaged()).rejects.toMatchObject({ code: "store", message: expect.stringContaining("damaged") });
});

const isRoot = process.getuid?.() === 0;
const nobody = 65534;
const asNobody = isRoot ? ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"] : [];
const writer = join(import.meta.dir, "../support/session-writer.ts");

/** The writer's own words, run with the rights of somebody who is not root; `before` prepares its surroundings. */
function writeUnprivileged(path: string, { before = "", items = 1, bytes = 10 } = {}): Record<string, unknown> {
  const isolated = before === "" ? [] : ["unshare", "--user", "--map-root-user", "--mount"];
  const script = `${before}\nexec "$@"`;
  const writing = [process.execPath, writer, path, "mine", String(items), String(bytes)];
  const child = Bun.spawnSync([...asNobody, ...isolated, "sh", "-ec", script, "sh", ...writing], {
    env: { PATH: process.env.PATH ?? "", HOME: "/nonexistent" },
  });
  expect([child.exitCode, child.stderr.toString()]).toEqual([0, ""]);
  return JSON.parse(child.stdout.toString());
}

function giveAway(...paths: string[]): void {
  if (isRoot) for (const path of paths) fs.chownSync(path, nobody, nobody);
}

test("a read-only database is refused, and so is one in a read-only directory", () => {
  using directory = makeDirectory();
  const path = join(directory.path, "koda.db");
  openStore(path).close();
  giveAway(directory.path, path);
  fs.chmodSync(path, 0o400);
  expect(writeUnprivileged(path)).toEqual({
    code: "store",
    message: expect.stringContaining("it is read-only. Make it"),
  });
  fs.chmodSync(path, 0o600);
  fs.chmodSync(directory.path, 0o500);
  expect(writeUnprivileged(path)).toEqual({ code: "store", message: expect.stringContaining("it is read-only.") });
  fs.chmodSync(directory.path, 0o700);
  expect(writeUnprivileged(path)).toEqual({ length: 1 });
});

test("a database behind a directory without permission is refused", () => {
  using directory = makeDirectory();
  const closed = join(directory.path, "closed");
  fs.mkdirSync(closed);
  giveAway(directory.path, closed);
  fs.chmodSync(closed, 0o000);
  for (const path of [join(closed, "koda.db"), join(closed, "deeper", "koda.db")])
    expect(writeUnprivileged(path)).toEqual({ code: "store", message: expect.stringContaining("permission denied") });
  fs.chmodSync(closed, 0o700);
});

const mountProbe = ["unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"];
const canMount = Bun.which("unshare") !== null && Bun.spawnSync([...asNobody, ...mountProbe]).exitCode === 0;

test.skipIf(!canMount)("a full disk is said to be full, at the start and in the middle", () => {
  using directory = makeDirectory();
  giveAway(directory.path);
  const full = { code: "store", message: expect.stringContaining("the disk is full. Free some space") };
  const path = join(directory.path, "koda.db");
  const mount = (size: string) => `mount -t tmpfs -o size=${size} none "${directory.path}"`;
  expect(writeUnprivileged(path, { before: mount("16k") })).toEqual(full);
  expect(writeUnprivileged(path, { before: mount("1m"), items: 2000, bytes: 1000 })).toEqual(full);
});

test.skipIf(!canMount)("a read-only file system is said to be read-only", () => {
  using directory = makeDirectory();
  giveAway(directory.path);
  const before = `mount -t tmpfs -o ro none "${directory.path}"`;
  const refused = { code: "store", message: expect.stringContaining("read-only") };
  expect(writeUnprivileged(join(directory.path, "koda.db"), { before })).toEqual(refused);
  expect(writeUnprivileged(join(directory.path, "deeper", "koda.db"), { before })).toEqual(refused);
});
