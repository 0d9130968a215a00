import { expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { sessionTable } from "../../cmd/sessiontable.ts";
import { openStore } from "../../lib/session/store.ts";
import { makePlace, type Place } from "../support/place.ts";
import { runIn, spawnIn } from "../support/run.ts";
import { call, facts, output, reply, result, start, user } from "../support/sessions.ts";

const main = resolve(import.meta.dir, "../../cmd/main.ts");

const environment = (place: Place) => ({ env: { KODA_HOME: homeOf(place) } });

async function session(
  place: Place,
  ...args: string[]
): Promise<{ exit: number | null; stdout: string; stderr: string }> {
  const { exit, stdout, stderr } = await runIn(place, [process.execPath, main, "session", ...args], environment(place));
  return { exit, stdout, stderr };
}

const homeOf = (place: Place) => join(place.home, "koda");

/** Two finished sessions, "first" and then "second". Within a millisecond the later id counts as the later session. */
function record(place: Place): void {
  const store = openStore(join(homeOf(place), "koda.db"));
  for (const id of ["first", "second"]) {
    const recorded = store.create({ ...start, id });
    recorded.beginTurn();
    recorded.append(user(`task of the ${id}\u001b]0;owned\u0007`), { ...reply("I look.", call("c1")), costUsd: 0.25 });
    recorded.outputs.save(output("o1", `secrets of the ${id}\n`));
    recorded.append({ ...result("c1", "\u001b[31mred\u001b[0m\r\nline"), exitCode: 0, output: "o1" });
    recorded.append({ ...reply("Done."), costUsd: 0.25 });
    recorded.endTurn("complete");
    recorded.close();
  }
  store.close();
}

const figures = (id: string) => ({
  id,
  title: `task of the ${id} ]0;owned`,
  cwd: "/project",
  model: "big",
  created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
  updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
  turns: 1,
  tokens: 30,
  cost_usd: 0.5,
});
const listed = (id: string) => ({ ...figures(id), outcome: "done" });

test("list gives the sessions, newest first", async () => {
  await using place = makePlace();
  record(place);
  const { exit, stdout, stderr } = await session(place, "list");
  expect([exit, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(
    /^ID      AGE  TURNS  TOKENS  COST   OUTCOME  DIRECTORY  TITLE\nsecond  \d[sm]   1      30      \$0.50  done     \/project   task of the second .*…\nfirst   .*\n$/,
  );
  const json = await session(place, "list", "--json");
  expect(JSON.parse(json.stdout)).toEqual([listed("second"), listed("first")]);
});

test("list has a line of eighty columns for each, with an id that the other commands take", async () => {
  await using place = makePlace();
  const store = openStore(join(homeOf(place), "koda.db"));
  const ends = ["complete", "cancelled", "limit", "error", undefined] as const;
  for (const reason of ends) {
    const recorded = store.create({ ...start, cwd: `/srv/${"long/".repeat(9)}people/project` });
    recorded.beginTurn();
    recorded.append(user(`${reason} 界 ${"and so on ".repeat(10)}`));
    if (reason !== undefined) recorded.endTurn(reason);
    recorded.close();
  }
  const held = store.create({ ...start, id: "running" });
  held.beginTurn();
  held.append(user("now"));

  const { stdout, stderr } = await session(place, "list");
  const [, ...rows] = stdout.trimEnd().split("\n");
  expect(stderr).toBe("");
  expect(rows.every((row) => row.includes("…/people/") || row.includes("/project"))).toBe(true);
  expect(rows.map((row) => /  (running|done|cancelled|limit|failed|interrupted)  /.exec(row)?.[1]).sort()).toEqual(
    ["running", "done", "cancelled", "limit", "failed", "interrupted"].sort(),
  );
  expect(Math.max(...rows.map((row) => Bun.stringWidth(row)))).toBeLessThanOrEqual(80);
  const ids = rows.map((row) => row.split(" ", 1)[0] ?? "");
  expect(ids.map((id) => store.find(id).id)).toEqual(store.list().map(({ id }) => id));
  expect(Math.max(...ids.map((id) => id.length))).toBeLessThan(36);
  held.close();
  store.close();
});

test("list stops at -n and says so, and --here leaves out other directories", async () => {
  await using place = makePlace();
  record(place);
  const store = openStore(join(homeOf(place), "koda.db"));
  const here = store.create({ ...start, id: "mine", cwd: place.project });
  here.append(user("in this one"));
  here.close();
  store.close();

  const short = await session(place, "list", "-n", "2");
  expect(short.stdout.split("\n")).toHaveLength(4);
  expect(short.stderr).toBe("Showing 2 of 3; -n N shows more\n");
  const mine = await session(place, "list", "--here");
  expect(mine.stdout).toMatch(/^ID .*\nmine .*\n$/);
  const others = JSON.parse((await session(place, "list", "--json", "-n", "1")).stdout);
  expect(others).toMatchObject([{ id: "mine" }]);
});

test.each(["show", "export"])("%s --last is about this directory's latest session", async (command) => {
  await using place = makePlace();
  record(place);
  expect(await session(place, command, "--last")).toMatchObject({
    exit: 10,
    stderr: `koda: No sessions in "${place.project}": koda session list shows all\n`,
  });
  const store = openStore(join(homeOf(place), "koda.db"));
  for (const id of ["one", "two"]) {
    const recorded = store.create({ ...start, id, cwd: place.project });
    recorded.append(user(`said in the ${id}`));
    recorded.close();
  }
  store.close();
  expect((await session(place, command, "--last")).stdout).toContain("said in the two");
  expect(await session(place, command)).toMatchObject({
    exit: 2,
    stderr: expect.stringContaining("Expected ID or --last"),
  });
  expect((await session(place, command, "one", "--last")).exit).toBe(2);
});

test("where there is no database there are no sessions, and none is made", async () => {
  await using place = makePlace();
  expect(await session(place, "list")).toEqual({ exit: 0, stdout: "", stderr: "No sessions\n" });
  expect((await session(place, "list", "--json")).stdout).toBe("[]\n");
  expect((await session(place, "show", "x")).exit).toBe(10);
  expect(existsSync(homeOf(place))).toBe(false);
});

test("show gives the conversation, for people without anything that steers a terminal", async () => {
  await using place = makePlace();
  record(place);
  const { exit, stdout } = await session(place, "show", "fir");
  expect(exit).toBe(0);
  expect(stdout).toStartWith("session first\ncorp/big in /project, last used ");
  expect(stdout).toEndWith(`
[user]
task of the first]0;owned

[assistant]
I look.

[call Bash]
{}

[result of Bash, exit code 0, output o1]
red
line

[assistant]
Done.
`);

  const json = JSON.parse((await session(place, "show", "first", "--json")).stdout);
  expect(json.session).toEqual(figures("first"));
  expect(json.items.map(({ seq, turn, kind }: Record<string, unknown>) => [seq, turn, kind])).toEqual([
    [1, 1, "turn_start"],
    [2, 1, "user"],
    [3, 1, "assistant"],
    [4, 1, "result"],
    [5, 1, "assistant"],
    [6, 1, "turn_end"],
  ]);
  expect(json.items[3]).toMatchObject({ exit_code: 0, parts: [{ text: "\u001b[31mred\u001b[0m\r\nline" }] });
});

test("export writes each format, markdown when nothing is said", async () => {
  await using place = makePlace();
  record(place);
  const plain = await session(place, "export", "first");
  expect(plain.stdout).toStartWith("# task of the first");
  expect(plain.stdout).not.toMatch(/(?!\n)\p{Cc}/u);
  expect((await session(place, "export", "first", "--format", "markdown")).stdout).toBe(plain.stdout);
  expect((await session(place, "export", "first", "--format=html")).stdout).toStartWith("<!doctype html>");
  const jsonl = await session(place, "export", "first", "--format", "jsonl");
  expect(
    jsonl.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).kind),
  ).toHaveLength(7);
});

test("search finds what was said and what was printed", async () => {
  await using place = makePlace();
  record(place);
  const { stdout, stderr } = await session(place, "search", "task", "-n", "1");
  expect(stdout).toMatch(
    /^(first|second)  \d{4}-\d\d-\d\d \d\d:\d\d  user  task of the \1 \]0;owned\n    task of the \1\]0;owned\n$/,
  );
  expect(stderr).toBe("Showing 1 of 2; -n N shows more\n");
  const json = await session(place, "search", "secrets first", "--json");
  expect(JSON.parse(json.stdout)).toEqual([
    { session: "first", seq: 3, kind: "output", snippet: "secrets of the first" },
  ]);
  expect(await session(place, "search", "volcano")).toEqual({
    exit: 0,
    stdout: "",
    stderr: 'No matches for "volcano"\n',
  });
});

test("rm deletes one session", async () => {
  await using place = makePlace();
  record(place);
  expect(await session(place, "rm", "fir")).toEqual({
    exit: 0,
    stdout: "Deleted first  task of the first ]0;owned\n",
    stderr: "",
  });
  expect((await session(place, "rm", "first")).exit).toBe(10);
  expect(JSON.parse((await session(place, "rm", "second", "--json")).stdout)).toEqual({ removed: ["second"] });
  expect(JSON.parse((await session(place, "list", "--json")).stdout)).toEqual([]);
});

test("prune deletes what is older, and needs to be told how old", async () => {
  await using place = makePlace();
  record(place);
  expect(await session(place, "prune", "--older-than", "30d")).toEqual({
    exit: 0,
    stdout: "Nothing to delete: no session is older than 30d\n",
    stderr: "",
  });
  expect((await session(place, "prune")).exit).toBe(2);
  const wanted = await session(place, "prune", "--older-than", "1ms", "--dry-run");
  expect(wanted.stdout).toMatch(/^ID .*\nsecond .*\nfirst .*\nWould delete 2 sessions\n$/);
  const pruned = await session(place, "prune", "--older-than", "1ms", "--json");
  expect(JSON.parse(pruned.stdout)).toEqual({ removed: ["first", "second"], in_use: [] });
  record(place);
  expect((await session(place, "prune", "--older-than", "1ms")).stdout).toBe("Deleted 2 sessions\n");
});

test("prune names the sessions that it keeps because a process works in them", async () => {
  await using place = makePlace();
  record(place);
  await using store = openStore(join(homeOf(place), "koda.db"));
  await using _ = await store.open("second");
  const asked = ["prune", "--older-than", "1ms"];
  expect((await session(place, ...asked, "--dry-run")).stdout).toMatch(
    /\nWould delete 1 session\nWould keep 1 session that a process is using: second\n$/,
  );
  expect((await session(place, ...asked)).stdout).toBe(
    "Deleted 1 session\nKept 1 session that a process is using: second\n",
  );
  expect((await session(place, ...asked)).stdout).toBe("Kept 1 session that a process is using: second\n");
  expect(JSON.parse((await session(place, ...asked, "--json")).stdout)).toEqual({ removed: [], in_use: ["second"] });
});

const unshare = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"];
const canMount = Bun.spawnSync([...unshare, "mount -t tmpfs none /mnt"]).exitCode === 0;

test.skipIf(!canMount)("on a full disk rm frees the snapshots first, and says what else to do", async () => {
  await using place = makePlace();
  const rm = `"${process.execPath}" "${main}" session rm`;
  const script = `mount -t tmpfs -o size=2m none /mnt
    cp -R "${homeOf(place)}/." /mnt; export KODA_HOME=/mnt
    mkdir -p /mnt/snapshots/sessions/s-first; head -c 400000 /dev/zero > /mnt/snapshots/sessions/s-first/1.json
    head -c 48k /dev/zero > /mnt/room; cat /dev/zero > /mnt/fill; rm /mnt/room
    ${rm} first; ls /mnt/snapshots/sessions; cat /dev/zero > /mnt/full; ${rm} second`;
  record(place);
  const { stdout, stderr } = await runIn(place, [...unshare, script]);
  expect([stdout, stderr.replaceAll(/^cat: .*\n/gm, "")]).toEqual([
    "Deleted first  task of the first ]0;owned\n",
    'koda: The disk with "/mnt/koda.db" is full, and even a deletion needs some space. Free a few megabytes: ' +
      'you may delete "/mnt/snapshots", but then no files of earlier turns can be restored.\n',
  ]);
});

test("a session whose turns were all taken back has no outcome", async () => {
  await using place = makePlace();
  record(place);
  expect((await session(place, "rollback", "first", "9")).exit).toBe(0);
  const { stdout } = await session(place, "list", "--json");
  expect(JSON.parse(stdout)).toMatchObject([{ id: "first", turns: 0, outcome: null }, { id: "second" }]);
  expect((await session(place, "list")).stdout).not.toContain("interrupted");
});

test("list names the agent that a run was", async () => {
  await using place = makePlace();
  const store = openStore(join(homeOf(place), "koda.db"));
  const recorded = store.create({ ...start, id: "reviewed" });
  recorded.append({ kind: "environment", text: "here", facts: { ...facts, agent: "reviewer" } }, user("Look at it"));
  recorded.close();
  store.close();
  expect((await session(place, "list")).stdout).toMatch(/\nreviewed .* {2}\[reviewer\] Look at it\n$/);
  expect((await session(place, "show", "reviewed")).stdout).toMatch(/^session reviewed, run as reviewer\n/);
  expect(JSON.parse((await session(place, "list", "--json")).stdout)).toMatchObject([{ run_as: "reviewer" }]);
});

test("list leaves out columns where a terminal has no room for them", async () => {
  await using store = openStore(":memory:");
  await using created = store.create({ ...start, cwd: "/home/me/projects/parser" });
  const { info } = created;
  const figures = { usage: { input: 10, cached: 0, output: 5, reasoning: null }, costUsd: 0.5, agent: "explore" };
  const named = { ...info, ...figures, title: "Where is the parser?" };
  const listed = { info: named, shortId: "01a1f753-d3d7", outcome: "done" as const };
  const headings = [100, 60, 50, 40, 30].map((columns) => {
    const table = sessionTable([listed], columns).trimEnd().split("\n");
    expect(Math.max(...table.map((line) => Bun.stringWidth(line)))).toBeLessThanOrEqual(columns);
    expect(table[1]).toContain("[explore]");
    return table[0]?.split(/ +/);
  });
  expect(headings).toEqual([
    ["ID", "AGE", "TURNS", "TOKENS", "COST", "OUTCOME", "DIRECTORY", "TITLE"],
    ["ID", "AGE", "TURNS", "TOKENS", "OUTCOME", "TITLE"],
    ["ID", "AGE", "TURNS", "OUTCOME", "TITLE"],
    ["ID", "AGE", "OUTCOME", "TITLE"],
    ["ID", "TITLE"],
  ]);
});

test.each(["show", "export", "rm"])("%s of an unknown id is exit 10 and says so on stderr", async (command) => {
  await using place = makePlace();
  record(place);
  expect(await session(place, command, "third")).toEqual({
    exit: 10,
    stdout: "",
    stderr: 'koda: No session "third": see koda session list\n',
  });
});

test("a database that cannot be used is exit 10", async () => {
  await using place = makePlace();
  mkdirSync(homeOf(place), { recursive: true });
  writeFileSync(join(homeOf(place), "koda.db"), "this is no database\n".repeat(100));
  for (const args of [["list"], ["show", "x"], ["search", "x"], ["rm", "x"], ["prune", "--older-than", "1d"]]) {
    const { exit, stdout, stderr } = await session(place, ...args);
    expect([exit, stdout]).toEqual([10, ""]);
    expect(stderr).toContain("not a SQLite database");
  }
});

test("a session that a process works in is not removed", async () => {
  await using place = makePlace();
  record(place);
  await using store = openStore(join(homeOf(place), "koda.db"));
  const busy = await store.open("first");
  const { exit, stderr } = await session(place, "rm", "first");
  expect(exit).toBe(10);
  expect(stderr).toMatch(
    new RegExp(
      `^koda: Session "first" is in use: process ${process.pid} on host ".*" has held it for \\d+ s\\. ` +
        "It can be deleted when that process has ended\\.\n$",
    ),
  );
  busy.close();
});

test("a long document arrives whole, and a reader that leaves ends it quietly", async () => {
  await using place = makePlace();
  const store = openStore(join(homeOf(place), "koda.db"));
  const long = store.create({ ...start, id: "long" });
  for (let n = 0; n < 30; n++) long.append(user("x".repeat(100_000)));
  long.close();
  store.close();

  const whole = await session(place, "export", "long", "--format", "jsonl");
  expect(whole.stdout.length).toBeGreaterThan(3_000_000);
  expect(JSON.parse(whole.stdout.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({ seq: 30 });

  const child = spawnIn(place, [process.execPath, main, "session", "export", "long"], environment(place));
  await child.stdout.cancel();
  expect([await child.exited, await child.stderr.text()]).toEqual([141, ""]);
});

test("a stdout that takes nothing is exit 11", async () => {
  await using place = makePlace();
  record(place);
  const argv = ["sh", "-c", '"$@" > /dev/full', "sh", process.execPath, main, "session", "list"];
  expect(await runIn(place, argv, environment(place))).toMatchObject({ exit: 11 });
});
