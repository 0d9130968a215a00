import { Database as Sqlite } from "bun:sqlite";
import { expect, jest, test } from "bun:test";
import { hostname } from "node:os";
import { join } from "node:path";
import { openStore } from "../../lib/session/store.ts";
import { makeShelf, output, start, user } from "../support/sessions.ts";

type Lease = { pid: number; owner: string; started: string; machine: string; host: string; expires: number };

/** Another process that holds the session "shared" of a database. */
async function holdElsewhere(path: string) {
  const script = join(import.meta.dir, "../support/session-holder.ts");
  const child = Bun.spawn([process.execPath, script, path, "shared"], { stdin: "pipe", stdout: "pipe" });
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  expect(new TextDecoder().decode(value)).toBe("held\n");
  return {
    pid: child.pid,
    async letGo() {
      await child.stdin.end();
      await child.exited;
    },
    async kill() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

/** Changes the lease of "shared" behind everybody's back. */
function alter(path: string, change: Partial<Lease>): void {
  using db = new Sqlite(path);
  for (const [column, value] of Object.entries(change))
    db.query(`UPDATE lease SET ${column} = ? WHERE session = 'shared'`).run(value);
}

function leaseIn(path: string): Lease | null {
  using db = new Sqlite(path);
  return db.query<Lease, []>("SELECT * FROM lease WHERE session = 'shared'").get();
}

test("a second process is told who holds the session, where, and for how long", async () => {
  await using shelf = makeShelf();
  const holder = await holdElsewhere(shelf.path);
  const message = new RegExp(
    `^Session "shared" is in use: process ${holder.pid} on host "${RegExp.escape(hostname())}" has held it for \\d+ s\\. .*--wait`,
  );
  for (const attempt of [() => shelf.store.open("shared"), () => shelf.store.openOrCreate("shared", start)])
    await expect(attempt()).rejects.toMatchObject({ code: "session_held", message: expect.stringMatching(message) });

  // Looking and copying need no lease.
  expect(shelf.store.items("shared")).toHaveLength(1);
  const fork = shelf.store.fork("shared");
  fork.append(user("mine"));
  fork.close();

  await holder.letGo();
  await using session = await shelf.store.open("shared");
  session.append(user("now mine"));
});

test("a session that this process holds already is held", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create({ ...start, id: "shared" });
  session.append(user("hello"));
  await expect(shelf.store.open("shared")).rejects.toThrow('Session "shared" is in use: this process has held it');
  await using other = openStore(shelf.path);
  await expect(other.open("shared")).rejects.toMatchObject({ code: "session_held" });
});

test("waiting ends as soon as the holder lets go", async () => {
  await using shelf = makeShelf();
  const holder = await holdElsewhere(shelf.path);
  const waiting = shelf.store.open("shared", { ms: 60_000 });
  await expect(shelf.store.open("shared", { ms: 60 })).rejects.toMatchObject({ code: "session_held" });
  await holder.letGo();
  const session = await waiting;
  expect(session.items()).toHaveLength(1);
  session.close();
});

test("waiting stops with the signal's own reason", async () => {
  await using shelf = makeShelf();
  await using holding = shelf.store.create({ ...start, id: "shared" });
  holding.append(user("hello"));
  const reason = new Error("the user had enough");
  const controller = new AbortController();
  const waiting = shelf.store.open("shared", { ms: 60_000, signal: controller.signal });
  controller.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  await expect(shelf.store.open("shared", { ms: 0, signal: controller.signal })).rejects.toBe(reason);
});

test("the lease of a process that was killed is taken over at once, and its work is there", async () => {
  await using shelf = makeShelf();
  const holder = await holdElsewhere(shelf.path);
  await holder.kill();
  expect(leaseIn(shelf.path)?.pid).toBe(holder.pid);
  await using session = await shelf.store.open("shared");
  expect(session.items()).toHaveLength(1);
  session.append(user("mine"));
});

test("a process that merely has the pid of the dead owner does not hold its session", async () => {
  await using shelf = makeShelf();
  const holder = await holdElsewhere(shelf.path);
  alter(shelf.path, { started: "1" });
  const session = await shelf.store.open("shared");
  session.close();
  await holder.kill();
});

test("a killed process that nobody has asked after does not hold its session", async () => {
  await using shelf = makeShelf();
  // The shell becomes a sleep, which never asks what became of its child.
  const script = join(import.meta.dir, "../support/session-holder.ts");
  const line = `"$@" <&3 3<&- & exec 3<&-; echo $!; exec sleep 600 >/dev/null`;
  const sleeper = Bun.spawn(
    ["bash", "-c", `exec 3<&0; ${line}`, "sh", process.execPath, script, shelf.path, "shared"],
    {
      stdin: "pipe",
      stdout: "pipe",
    },
  );
  const reader = sleeper.stdout.getReader();
  let said = "";
  while (!said.includes("held\n")) said += new TextDecoder().decode((await reader.read()).value);
  const pid = leaseIn(shelf.path)?.pid ?? 0;
  expect(said).toContain(`${pid}\n`);
  process.kill(pid, "SIGKILL");
  while ((await reader.read()).value !== undefined);
  const session = await shelf.store.open("shared", { ms: 5000 });
  expect(process.kill(pid, 0)).toBe(true);
  session.close();
  sleeper.kill("SIGKILL");
  await sleeper.exited;
});

test("of a process on another machine only the end of its lease frees the session", async () => {
  await using shelf = makeShelf();
  const holder = await holdElsewhere(shelf.path);
  await holder.kill();
  alter(shelf.path, { machine: "another", host: "build-7" });
  await expect(shelf.store.open("shared")).rejects.toThrow(`process ${holder.pid} on host "build-7"`);
  alter(shelf.path, { machine: "" });
  await expect(shelf.store.open("shared")).rejects.toMatchObject({ code: "session_held" });
  alter(shelf.path, { expires: Date.now() - 1 });
  await using _ = await shelf.store.open("shared");
});

test("who lost the lease fails at the next write instead of mixing with the new owner's", async () => {
  await using shelf = makeShelf();
  const slow = shelf.store.create({ ...start, id: "shared" });
  slow.append(user("mine"));
  alter(shelf.path, { expires: Date.now() - 1 });
  await using other = openStore(shelf.path);
  const taker = await other.open("shared");
  taker.append(user("the taker's"));

  const lost = { code: "session_held", message: expect.stringContaining('Lost session "shared" to this process') };
  expect(() => slow.append(user("too late"))).toThrow(expect.objectContaining(lost));
  expect(() => slow.beginTurn()).toThrow(expect.objectContaining(lost));
  expect(() => slow.outputs.save(output("o1", "x"))).toThrow(expect.objectContaining(lost));
  expect(slow.items()).toHaveLength(1);

  slow.close();
  taker.append(user("still the taker's"));
  expect(shelf.store.items("shared")).toHaveLength(3);
  taker.close();
});

test("a session that was removed under its writer fails loudly", async () => {
  await using shelf = makeShelf();
  await using session = shelf.store.create({ ...start, id: "shared" });
  session.append(user("mine"));
  alter(shelf.path, { expires: Date.now() - 1 });
  shelf.store.remove("shared");
  expect(() => session.append(user("too late"))).toThrow('Lost session "shared"');
});

test("a lease is renewed as long as its session is open", async () => {
  await using shelf = makeShelf();
  jest.useFakeTimers();
  try {
    const session = shelf.store.create({ ...start, id: "shared" });
    const first = leaseIn(shelf.path)?.expires ?? 0;
    jest.advanceTimersByTime(10_000);
    const second = leaseIn(shelf.path)?.expires ?? 0;
    expect(second - first).toBeGreaterThanOrEqual(10_000);
    jest.advanceTimersByTime(60_000);
    expect((leaseIn(shelf.path)?.expires ?? 0) - Date.now()).toBeGreaterThanOrEqual(20_000);
    session.append(user("hello"));
    session.close();
    jest.advanceTimersByTime(60_000);
    expect(leaseIn(shelf.path)).toBeNull();
  } finally {
    jest.useRealTimers();
  }
});

test("an open session does not keep its process alive", async () => {
  await using shelf = makeShelf();
  const script = join(import.meta.dir, "../../lib/session/store.ts");
  const code = `const { openStore } = await import(${JSON.stringify(script)});
    openStore(${JSON.stringify(shelf.path)}).create(${JSON.stringify(start)});`;
  const child = Bun.spawn([process.execPath, "-e", code]);
  expect(await child.exited).toBe(0);
});
